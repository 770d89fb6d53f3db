import { placesIn } from "./find-in-chat.ts";

const highlightName = "chat-found";
/** What people and models have said; not the page's own words around it. */
const said = "article .markdown, article .plain-text";
/** Drawn twice, for those who see and those who hear: it would be found twice. */
const notRead = ".markdown-formula, .for-readers, button";

/** Marks a text wherever it is drawn in the list, also in what is drawn later. What it returns ends that. */
export function markFound(query: string): () => void {
  const list = document.querySelector(".chat-content");
  // Firefox has them since 140: without them the list still goes to what was found.
  if (list === null || !("highlights" in CSS)) return () => {};
  const marks = new Highlight();
  const mark = () => {
    marks.clear();
    for (const place of list.querySelectorAll(said))
      for (const range of rangesIn(place, query)) marks.add(range);
  };
  let frame: number | undefined;
  const observer = new MutationObserver(() => {
    frame ??= requestAnimationFrame(() => {
      frame = undefined;
      mark();
    });
  });
  mark();
  CSS.highlights.set(highlightName, marks);
  observer.observe(list, { subtree: true, childList: true, characterData: true });
  return () => {
    observer.disconnect();
    if (frame !== undefined) cancelAnimationFrame(frame);
    CSS.highlights.delete(highlightName);
  };
}

/** Brings the first place of a text within a node into view; the node itself where it is folded away. */
export function scrollToFound(node: Element, query: string): void {
  for (const place of node.querySelectorAll(said)) {
    const [first] = rangesIn(place, query);
    if (first === undefined) continue;
    const { startContainer } = first;
    const element =
      startContainer instanceof Element ? startContainer : startContainer.parentElement;
    return element?.scrollIntoView({ block: "center" });
  }
  return undefined;
}

function rangesIn(place: Element, query: string): Range[] {
  const nodes = textNodesIn(place);
  const texts = nodes.map(({ data }) => data);
  return placesIn(texts, query).flatMap(({ start, end }) => {
    const [from, to] = [nodes[start.text], nodes[end.text]];
    if (from === undefined || to === undefined) return [];
    const range = document.createRange();
    range.setStart(from, start.offset);
    range.setEnd(to, end.offset);
    return [range];
  });
}

function textNodesIn(place: Element): Text[] {
  const walker = document.createTreeWalker(
    place,
    NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT,
    (node) => {
      if (!(node instanceof Element)) return NodeFilter.FILTER_ACCEPT;
      return node.matches(notRead) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
    },
  );
  const nodes: Text[] = [];
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    if (node instanceof Text) nodes.push(node);
  return nodes;
}
