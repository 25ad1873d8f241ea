/* What can be done to links and roles, as calls of the API. */
import { call, create } from "../api.js";

/** @typedef {{id: string, url?: string}} NewLink url: absent where an earlier answer had it, which was lost */

/** @param {string} prompt @param {Record<string, any>} wanted @param {string} key @returns {Promise<NewLink>} */
export const makeLink = (prompt, wanted, key) => create(`prompts/${prompt}/links`, wanted, key);

/** @param {string} link @returns {Promise<NewLink>} */
export const rotateLink = (link) => call(`links/${link}/rotate`, { method: "POST", body: {} });

/** @param {string} link @param {Record<string, any>} changes */
export const narrowLink = (link, changes) => call(`links/${link}`, { method: "PATCH", body: changes });

/** @param {string} link @returns {Promise<{revoked_at: string}>} */
export const revokeLink = (link) => call(`links/${link}/revoke`, { method: "POST", body: {} });

/** @param {string} prompt @param {Record<string, any>} wanted */
export const grantAccess = (prompt, wanted) => call(`prompts/${prompt}/grants`, { method: "POST", body: wanted });

/** @param {string} grant @param {Record<string, any>} changes */
export const changeGrant = (grant, changes) => call(`grants/${grant}`, { method: "PATCH", body: changes });

/** @param {string} grant @returns {Promise<{revoked_at: string}>} */
export const revokeGrant = (grant) => call(`grants/${grant}`, { method: "DELETE" });

/** @param {string} prompt @returns {Promise<{revoked_at: string}>} */
export const revokeAll = (prompt) => call(`prompts/${prompt}/revoke-all`, { method: "POST", body: {} });

/** @param {string} prompt */
export const leavePrompt = (prompt) => call(`prompts/${prompt}/access`, { method: "DELETE" });

/** @param {string} request @param {string} role "" to decline */
export const answerRequest = (request, role) => call(`access-requests/${request}/answer`, { method: "POST", body: { role: role || null } });

/** @param {string} prompt @param {string} email */
export const offerOwnership = (prompt, email) => call(`prompts/${prompt}/transfers`, { method: "POST", body: { account: email } });

/** @param {string} transfer that I made */
export const withdrawOffer = (transfer) => call(`transfers/${transfer}/decline`, { method: "POST", body: {} });
