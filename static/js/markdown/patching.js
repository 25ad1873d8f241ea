/* Makes elements be what a tree says, changing only what differs: what is selected, focused or scrolled stays so. */

/** @typedef {import("./tree.js").Tree} Tree */
/** @typedef {import("./tree.js").Branch} Branch */

/** @param {Tree} tree @returns {Node} */
function made(tree) {
  if (typeof tree === "string") return document.createTextNode(tree);
  const element = document.createElement(tree.tag);
  for (const [name, value] of Object.entries(tree.attributes)) element.setAttribute(name, value);
  element.append(...tree.children.map(made));
  return element;
}

/** @param {Element} element @param {Branch} tree */
function isAlike(element, tree) {
  const names = Object.keys(tree.attributes);
  return (
    element.localName === tree.tag &&
    element.attributes.length === names.length &&
    names.every((name) => element.getAttribute(name) === tree.attributes[name])
  );
}

/** Text that only grew keeps its node, and with it a selection that reaches into it. @param {Text} node @param {string} text */
function patchText(node, text) {
  if (node.data === text) return;
  if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
  else node.data = text;
}

/** @param {ChildNode} node @param {Tree} tree */
function patch(node, tree) {
  if (typeof tree === "string") {
    if (node instanceof Text) patchText(node, tree);
    else node.replaceWith(tree);
  } else if (node instanceof Element && isAlike(node, tree)) {
    patchChildren(node, tree.children);
  } else {
    node.replaceWith(made(tree));
  }
}

/**
 * @param {Element} parent
 * @param {Tree[]} trees what its children are to be, from the child at `from` on
 * @param {number} [from]
 */
export function patchChildren(parent, trees, from = 0) {
  /** @type {ChildNode | null} */
  let node = parent.childNodes[from] ?? null;
  for (const tree of trees) {
    /** @type {ChildNode | null} */
    const next = node?.nextSibling ?? null;
    if (node) patch(node, tree);
    else parent.append(made(tree));
    node = next;
  }
  while (node) {
    const next = node.nextSibling;
    node.remove();
    node = next;
  }
}
