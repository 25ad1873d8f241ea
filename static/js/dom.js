/* The few things every module does with the document. */

/**
 * The element that `selector` finds, which must be there and of the expected kind.
 * @template {Element} T
 * @param {string} selector
 * @param {ParentNode} [within]
 * @param {new () => T} [kind]
 * @returns {T}
 */
export function one(selector, within = document, kind) {
  const found = within.querySelector(selector);
  if (!found || (kind && !(found instanceof kind))) throw new Error(`The page lacks ${selector}`);
  return /** @type {T} */ (found);
}

/**
 * A new element. Attributes that are false or undefined are left out; children are elements or plain text.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, string | number | boolean | undefined>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...children);
  return element;
}

/**
 * An icon of the sprite. It is decoration: its button carries the name.
 * @param {string} name
 * @returns {SVGSVGElement}
 */
export function icon(name) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const use = document.createElementNS(space, "use");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `${document.documentElement.dataset.icons}#${name}`);
  svg.append(use);
  return svg;
}

/**
 * A copy of the first element inside <template data-template="name">.
 * @param {string} name
 * @returns {HTMLElement}
 */
export function fromTemplate(name) {
  const template = one(`template[data-template="${name}"]`, document, HTMLTemplateElement);
  return /** @type {HTMLElement} */ (/** @type {Element} */ (template.content.firstElementChild).cloneNode(true));
}

/**
 * Data that the server put into the page with json_script.
 * @param {string} id
 * @returns {any}
 */
export function pageData(id) {
  const script = document.getElementById(id);
  return script ? JSON.parse(script.textContent ?? "null") : null;
}

/** The nonce of this page, for what must add a style sheet (CodeMirror). */
export function nonce() {
  return one("script[nonce]", document, HTMLScriptElement).nonce;
}

/**
 * Calls `action` once things have been quiet for `wait` ms.
 * @template {unknown[]} A
 * @param {(...args: A) => void} action
 * @param {number} wait
 * @returns {(...args: A) => void}
 */
export function afterQuiet(action, wait) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...args), wait);
  };
}
