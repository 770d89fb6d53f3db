import katex from "katex";
import "katex/dist/katex.min.css";

/** A node of KaTeX's internal tree: HTML, MathML or SVG. */
interface KatexNode {
  readonly children?: readonly KatexNode[];
  readonly attributes?: Record<string, string | undefined>;
  toNode(): Node;
}

/** Missing in KaTeX's types. `katex.render` calls it and inserts `toNode()` of the result. */
const { __renderToDomTree: renderToTree } = katex as unknown as {
  readonly __renderToDomTree: (text: string, options: katex.KatexOptions) => KatexNode;
};

/**
 * Renders a formula. Throws if the formula is invalid. KaTeX writes some styles, such as the width of an arrow over a letter, as
 * `style` attributes, which the page's content security policy blocks. They are set as properties instead.
 */
export function renderFormulaNode(text: string, options: katex.KatexOptions): Node {
  const tree = renderToTree(text, options);
  setStylesAsProperties(tree);
  return tree.toNode();
}

function setStylesAsProperties(node: KatexNode): void {
  for (const child of node.children ?? []) setStylesAsProperties(child);
  const { style } = node.attributes ?? {};
  if (node.attributes === undefined || style === undefined) return;
  delete node.attributes["style"];
  const toNode = node.toNode.bind(node);
  node.toNode = () => {
    const element = toNode();
    if (
      element instanceof HTMLElement ||
      element instanceof SVGElement ||
      element instanceof MathMLElement
    )
      element.style.cssText = style;
    return element;
  };
}
