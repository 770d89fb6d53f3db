import katex from "katex";
import "katex/dist/katex.min.css";

/** A node of KaTeX's own tree, of HTML, MathML or SVG. */
interface TreeNode {
  readonly children?: readonly TreeNode[];
  readonly attributes?: Record<string, string | undefined>;
  toNode(): Node;
}

/** Not in KaTeX's types; `render` is this, with `toNode` of what it returns. */
const { __renderToDomTree: renderToTree } = katex as unknown as {
  readonly __renderToDomTree: (text: string, options: katex.KatexOptions) => TreeNode;
};

/**
 * Draws a formula. Throws if it cannot be read. KaTeX writes some styles, such as the width of an arrow over a letter, as
 * attributes, which the policy of the page ignores: they are set as properties instead.
 */
export function formulaNode(text: string, options: katex.KatexOptions): Node {
  const tree = renderToTree(text, options);
  setStylesAsProperties(tree);
  return tree.toNode();
}

function setStylesAsProperties(node: TreeNode): void {
  for (const child of node.children ?? []) setStylesAsProperties(child);
  const { style } = node.attributes ?? {};
  if (node.attributes === undefined || style === undefined) return;
  delete node.attributes["style"];
  const toNode = node.toNode.bind(node);
  node.toNode = () => {
    const made = toNode();
    if (made instanceof HTMLElement || made instanceof SVGElement || made instanceof MathMLElement)
      made.style.cssText = style;
    return made;
  };
}
