/* The reader of Markdown. Its renderer, which writes HTML, comes along and is never called. */
export { default } from "markdown-it";
