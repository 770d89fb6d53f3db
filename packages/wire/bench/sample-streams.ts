/** A generated Chat Completions stream: the same bytes in every run on every machine. */
export interface ChatStream {
  name: string;
  bytes: Uint8Array;
  /** The `data` of its events, including `[DONE]`. */
  events: readonly string[];
  content: StreamContent;
}

/** The content that every reader of the stream must return. */
export interface StreamContent {
  text: string;
  reasoning: string;
  arguments: string;
}

export function createTextStream(tokens: number): ChatStream {
  const words = generateTokens(tokens);
  return chatStream("text", { text: words.join("") }, [
    chunk({ role: "assistant", content: "" }),
    ...words.map((content) => chunk({ content })),
    ...ending("stop", tokens),
  ]);
}

/** Creates a stream in DeepSeek's format: both fields in every delta, one of them null. */
export function createReasoningStream(tokens: number): ChatStream {
  const reasoningTokens = generateTokens(tokens / 2);
  const words = generateTokens(tokens / 2);
  return chatStream(
    "reasoning + text",
    { reasoning: reasoningTokens.join(""), text: words.join("") },
    [
      chunk({ role: "assistant", content: null, reasoning_content: "" }),
      ...reasoningTokens.map((token) => chunk({ content: null, reasoning_content: token })),
      ...words.map((content) => chunk({ content, reasoning_content: null })),
      ...ending("stop", tokens),
    ],
  );
}

/** Creates a stream of two calls that write a file, in deltas of 2 to 10 characters. */
export function createToolCallStream(tokens: number): ChatStream {
  const calls = [0, 1].map((index) =>
    JSON.stringify({ path: `src/part-${index}.ts`, content: generateTokens(tokens / 2).join("") }),
  );
  return chatStream("tool calls", { arguments: calls.join("") }, [
    chunk({ role: "assistant", content: null }),
    ...calls.flatMap((text, index) => [callOpening(index), ...callDeltas(index, text, 2, 10)]),
    ...ending("tool_calls", tokens),
  ]);
}

/** Creates a stream of text with OpenAI's padding of random length, so that all chunks differ in length. */
export function createObfuscatedStream(tokens: number): ChatStream {
  const random = createRandom(7);
  const words = generateTokens(tokens);
  const obfuscation = () => generateLetters(random, 1 + random(16));
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
 * The middle of the call repeats one block of chunks, so that calls of all lengths read from the same small memory.
 * Otherwise long calls would be slower because of the processor's cache.
 */
export function createLongCall(megabytes: number): LongCall {
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
    splitIntoReads(utf8.encode(events.map(frame).join("")), 4096),
  );
  return {
    name: `${megabytes} MB`,
    reads: [first, ...Array.from({ length: repeats }, () => middle), last].flatMap(
      (reads) => reads ?? [],
    ),
    eventCount: opening.length + block.length * repeats + closing.length,
  };
}

/** Splits the bytes into reads of the given size; the last one may be shorter. */
export function splitIntoReads(bytes: Uint8Array, size: number): Uint8Array[] {
  const reads: Uint8Array[] = [];
  for (let offset = 0; offset < bytes.length; offset += size)
    reads.push(bytes.subarray(offset, offset + size));
  return reads;
}

/** Returns one read per event, as from a server that writes each token separately. */
export function splitByEvent(stream: ChatStream): Uint8Array[] {
  return stream.events.map((data) => utf8.encode(frame(data)));
}

const utf8 = new TextEncoder();

function chatStream(name: string, content: Partial<StreamContent>, chunks: string[]): ChatStream {
  const events = [...chunks, "[DONE]"];
  const bytes = utf8.encode(events.map(frame).join(""));
  return { name, bytes, events, content: { text: "", reasoning: "", arguments: "", ...content } };
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
  const random = createRandom(index + 11);
  const chunks: string[] = [];
  for (let start = 0, end = 0; start < text.length; start = end) {
    end = start + shortest + random(longest - shortest + 1);
    const call = { index, function: { arguments: text.slice(start, end) } };
    chunks.push(chunk({ tool_calls: [call] }));
  }
  return chunks;
}

function ending(finish: string, tokens: number, more: object = {}): string[] {
  const usage = { prompt_tokens: 90, completion_tokens: tokens, total_tokens: tokens + 90 };
  return [chunk({}, more, finish), JSON.stringify({ ...envelope, choices: [], usage, ...more })];
}

/** Generates tokens of 1 to 12 characters, some of them quotes, line breaks, code or Chinese. */
function generateTokens(count: number): string[] {
  const random = createRandom(count);
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
    return space + generateLetters(random, 1 + random(12 - space.length));
  });
}

function generateLetters(random: (below: number) => number, length: number): string {
  let text = "";
  for (let index = 0; index < length; index += 1) text += String.fromCharCode(97 + random(26));
  return text;
}

/** Returns a seeded pseudo-random generator (mulberry32). */
function createRandom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
