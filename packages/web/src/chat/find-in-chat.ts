import {
  answerChain,
  chosenVersion,
  wordsOf,
  type AnswerVersion,
  type ChatNode,
  type UserVersion,
} from "@deltawire/tasks/chats";

/** The nodes in whose words a text is, whatever its case and however their Markdown is written; none for an empty text. */
export function nodesWith(path: readonly ChatNode[], query: string): string[] {
  const wanted: Searched = { raw: query.toLowerCase(), plain: plainOf(query) };
  if (query.trim() === "") return [];
  return path.filter((node) => shownIn(node).some((one) => has(one, wanted))).map(idOf);
}

/** The next one on the path, from a node on; behind the last comes the first. `itself`: that node may be the one. */
export function nextFound(
  path: readonly ChatNode[],
  found: readonly string[],
  from: { readonly nodeId: string | undefined; readonly itself: boolean },
  step: 1 | -1,
): string | undefined {
  const wanted = new Set(found);
  const ids = path.map(idOf).filter((id) => wanted.has(id) || id === from.nodeId);
  const at = from.nodeId === undefined ? -1 : ids.indexOf(from.nodeId);
  if (at === -1) return step === 1 ? found[0] : found.at(-1);
  const first = from.itself ? at : at + step;
  const inOrder = Array.from({ length: ids.length }, (_, nth) =>
    ids.at((first + nth * step) % ids.length),
  );
  return inOrder.find((id) => id !== undefined && wanted.has(id));
}

/** Where something begins or ends: in which text, and at which of its characters. */
interface Place {
  readonly text: number;
  readonly offset: number;
}

/** All places of a text in texts that stand one after the other, whatever its case; it may go on from one to the next. */
export function placesIn(
  texts: readonly string[],
  query: string,
): { readonly start: Place; readonly end: Place }[] {
  const { whole, wanted } = inOneCase(texts.join(""), query);
  if (wanted.trim() === "") return [];
  const starts = textStarts(texts);
  const places: { start: Place; end: Place }[] = [];
  for (let at = whole.indexOf(wanted); at !== -1; at = whole.indexOf(wanted, at + wanted.length)) {
    const last = placeOf(starts, at + wanted.length - 1);
    const end = { text: last.text, offset: last.offset + 1 };
    places.push({ start: placeOf(starts, at), end });
  }
  return places;
}

interface Searched {
  readonly raw: string;
  readonly plain: string;
}

function has(text: Searched, wanted: Searched): boolean {
  const isPlain = wanted.plain.trim() !== "" && text.plain.includes(wanted.plain);
  return isPlain || text.raw.includes(wanted.raw);
}

function shownIn(node: ChatNode): Searched[] {
  if (node.kind === "separator") return [];
  const shown = node.kind === "user" ? [chosenVersion(node)] : answerChain(node, node.version);
  return shown.map(searched);
}

/** A version never changes: looked for letter by letter, a chat is read once. */
const known = new WeakMap<UserVersion | AnswerVersion, Searched>();

function searched(version: UserVersion | AnswerVersion): Searched {
  const words = wordsOf(version);
  const text = known.get(version) ?? { raw: words.toLowerCase(), plain: plainOf(words) };
  known.set(version, text);
  return text;
}

/** Near enough to what is drawn: without marks of references and of Markdown, and with one space for many. */
function plainOf(text: string): string {
  return text
    .replaceAll(/\[\^\d+\]/g, "")
    .replaceAll(/[*_`~#>|\\]/g, "")
    .replaceAll(/\s+/g, " ")
    .toLowerCase();
}

/** In small letters, unless that would move what stands behind: there are capitals that become two letters. */
function inOneCase(text: string, query: string): { whole: string; wanted: string } {
  const whole = text.toLowerCase();
  if (whole.length !== text.length) return { whole: text, wanted: query };
  return { whole, wanted: query.toLowerCase() };
}

function textStarts(texts: readonly string[]): number[] {
  let start = 0;
  return texts.map(({ length }) => {
    start += length;
    return start - length;
  });
}

function placeOf(starts: readonly number[], at: number): Place {
  let [low, high] = [0, starts.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return { text: low, offset: at - (starts[low] ?? 0) };
}

function idOf({ node_id }: ChatNode): string {
  return node_id;
}
