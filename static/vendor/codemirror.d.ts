/* Types for the bundle: what the entry exports, and the types that our modules name. */
export * from "../../vendor/codemirror.entry.js";
export type { Completion, CompletionContext } from "@codemirror/autocomplete";
export type { Extension, StateEffectType } from "@codemirror/state";
export type { DecorationSet, ViewUpdate } from "@codemirror/view";
