/* What is open of a grid, beside it. Esc and its button close it, and the focus goes back to the grid. */
import { one } from "../dom.js";

export class SidePanel {
  /**
   * @param {HTMLElement} root
   * @param {() => void} onClose
   */
  constructor(root, onClose) {
    this.root = root;
    this.onClose = onClose;
    this.title = one("[data-side-title]", root);
    this.tools = one("[data-side-tools]", root);
    this.body = one("[data-side-body]", root, HTMLElement);
    one("[data-side-close]", root).addEventListener("click", () => this.close());
    root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || event.defaultPrevented || event.isComposing || event.keyCode === 229) return;
      event.preventDefault();
      this.close();
    });
  }

  get isOpen() {
    return !this.root.hidden;
  }

  /**
   * @param {string} title
   * @param {Node[]} body
   * @param {Node[]} [tools]
   */
  open(title, body, tools = []) {
    this.title.textContent = title;
    this.title.setAttribute("title", title);
    this.tools.replaceChildren(...tools);
    this.body.replaceChildren(...body);
    this.body.scrollTop = 0;
    this.root.hidden = false;
  }

  close() {
    if (!this.isOpen) return;
    this.root.hidden = true;
    this.onClose();
    this.body.replaceChildren();
  }
}
