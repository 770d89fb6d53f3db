/** A Chat Completions stream made up for measuring: the same bytes in every run, on every machine. */
export interface ChatStream {
  name: string;
  bytes: Uint8Array;
  /** The data of its events, the sentinel included. */
  events: readonly string[];
  said: Said;
}

/** What every reader must find in a stream, whatever it makes of it. */
export interface Said {
  text: string;
  reasoning: string;
  arguments: string;
}

export function textStream(tokens: number): ChatStream {
  const words = tokensOf(tokens);
  return chatStream("text", { text: words.join("") }, [
    chunk({ role: "assistant", content: "" }),
    ...words.map((content) => chunk({ content })),
    ...ending("stop", tokens),
  ]);
}

/** As DeepSeek sends it: both fields in every delta, one of them null. */
export function reasoningStream(tokens: number): ChatStream {
  const thoughts = tokensOf(tokens / 2);
  const words = tokensOf(tokens / 2);
  return chatStream("reasoning + text", { reasoning: thoughts.join(""), text: words.join("") }, [
    chunk({ role: "assistant", content: null, reasoning_content: "" }),
    ...thoughts.map((thought) => chunk({ content: null, reasoning_content: thought })),
    ...words.map((content) => chunk({ content, reasoning_content: null })),
    ...ending("stop", tokens),
  ]);
}

/** Two calls, each writing a file in deltas of 2 to 10 characters. */
export function toolCallStream(tokens: number): ChatStream {
  const calls = [0, 1].map((nth) =>
    JSON.stringify({ path: `src/part-${nth}.ts`, content: tokensOf(tokens / 2).join("") }),
  );
  return chatStream("tool calls", { arguments: calls.join("") }, [
    chunk({ role: "assistant", content: null }),
    ...calls.flatMap((text, index) => [callOpening(index), ...callDeltas(index, text, 2, 10)]),
    ...ending("tool_calls", tokens),
  ]);
}

/** Text, with the padding of a random length that OpenAI adds to each chunk: no two chunks have a frame in common. */
export function obfuscatedStream(tokens: number): ChatStream {
  const random = randomNumbers(7);
  const words = tokensOf(tokens);
  const obfuscation = () => letters(random, 1 + random(16));
  return chatStream("text, obfuscated", { text: words.join("") }, [
    chunk({ role: "assistant", content: "" }, { obfuscation: obfuscation() }),
    ...words.map((content) => chunk({ content }, { obfuscation: obfuscation() })),
    ...ending("stop", tokens, { obfuscation: obfuscation() }),
  ]);
}

/** One call with long arguments, in deltas of 8 to 64 characters. */
export interface LongCall {
  name: string;
  reads: Uint8Array[];
  eventCount: number;
}

/**
 * The middle of the call is one block of chunks over and over, so that calls of all lengths read from the same small
 * memory: with 70 MB of their own, long ones would be slower for the processor's cache alone.
 */
export function longCall(megabytes: number): LongCall {
  const escapedLine = String.raw`export const answer = \"42\"; // a line as a model writes it\n`;
  const block = callDeltas(0, escapedLine.repeat(500), 8, 64);
  const repeats = Math.ceil((megabytes * 1e6) / (escapedLine.length * 500));
  const opening = [
    chunk({ role: "assistant", content: null }),
    callOpening(0),
    ...callDeltas(0, '{"content":"', 8, 64),
  ];
  const closing = [...callDeltas(0, '"}', 8, 64), ...ending("tool_calls", 1), "[DONE]"];
  const [first, middle, last] = [opening, block, closing].map((events) =>
    readsOf(utf8.encode(events.map(frame).join("")), 4096),
  );
  return {
    name: `${megabytes} MB`,
    reads: [first, ...Array.from({ length: repeats }, () => middle), last].flatMap(
      (reads) => reads ?? [],
    ),
    eventCount: opening.length + block.length * repeats + closing.length,
  };
}

/** The bytes in reads of that many; the last one may be shorter. */
export function readsOf(bytes: Uint8Array, size: number): Uint8Array[] {
  const reads: Uint8Array[] = [];
  for (let at = 0; at < bytes.length; at += size) reads.push(bytes.subarray(at, at + size));
  return reads;
}

/** One read for each event, as a server that writes its tokens one by one is read. */
export function readPerEvent(stream: ChatStream): Uint8Array[] {
  return stream.events.map((data) => utf8.encode(frame(data)));
}

const utf8 = new TextEncoder();

function chatStream(name: string, said: Partial<Said>, chunks: string[]): ChatStream {
  const events = [...chunks, "[DONE]"];
  const bytes = utf8.encode(events.map(frame).join(""));
  return { name, bytes, events, said: { text: "", reasoning: "", arguments: "", ...said } };
}

function frame(data: string): string {
  return `data: ${data}\n\n`;
}

function chunk(delta: object, more: object = {}, finish_reason: string | null = null): string {
  return JSON.stringify({
    ...envelope,
    choices: [{ index: 0, delta, logprobs: null, finish_reason }],
    usage: null,
    ...more,
  });
}

const envelope = {
  id: "chatcmpl-C7mQxW2k4Tz9LrVb1nDpYs8HfGaEj",
  object: "chat.completion.chunk",
  created: 1_760_000_000,
  model: "gpt-4.1-mini-2025-04-14",
  system_fingerprint: "fp_4fce0778af",
};

function callOpening(index: number): string {
  const id = `call_${index}xKq7Zt3Wm9Pv5RbYc1Ld`;
  const call = { index, id, type: "function", function: { name: "write_file", arguments: "" } };
  return chunk({ tool_calls: [call] });
}

function callDeltas(index: number, text: string, shortest: number, longest: number): string[] {
  const random = randomNumbers(index + 11);
  const chunks: string[] = [];
  for (let at = 0, end = 0; at < text.length; at = end) {
    end = at + shortest + random(longest - shortest + 1);
    const call = { index, function: { arguments: text.slice(at, end) } };
    chunks.push(chunk({ tool_calls: [call] }));
  }
  return chunks;
}

function ending(finish: string, tokens: number, more: object = {}): string[] {
  const usage = { prompt_tokens: 90, completion_tokens: tokens, total_tokens: tokens + 90 };
  return [chunk({}, more, finish), JSON.stringify({ ...envelope, choices: [], usage, ...more })];
}

/** Words as a tokenizer cuts them: 1 to 12 characters, a few of them quotes, line ends, code or Chinese. */
function tokensOf(count: number): string[] {
  const random = randomNumbers(count);
  const special = [
    "\n\n",
    '"',
    ' "name"',
    "\\n",
    "\t",
    "。",
    "流式",
    "传输数据",
    " é",
    "`",
    " {",
    "});\n",
  ];
  return Array.from({ length: count }, () => {
    if (random(12) === 0) return special[random(special.length)] ?? "";
    const space = random(4) === 0 ? "" : " ";
    return space + letters(random, 1 + random(12 - space.length));
  });
}

function letters(random: (below: number) => number, length: number): string {
  let text = "";
  for (let nth = 0; nth < length; nth += 1) text += String.fromCharCode(97 + random(26));
  return text;
}

/** Numbers that look random and are the same every time (mulberry32). */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
