import type { ChatChunk } from "@deltawire/wire";

/** What the server does with its socket, one after the other. When the steps end, so does the reply. */
export type WireStep =
  | { type: "write"; data: string | Uint8Array }
  /** Between two chunks, as long as the server was told to take. */
  | { type: "pace" }
  | { type: "wait"; ms: number }
  /** The time that the server was told to be silent for. */
  | { type: "silence" }
  /** The socket breaks. */
  | { type: "cut" }
  /** Nothing more comes, and the connection stays open. */
  | { type: "hold" };

export type StreamBody = (chunks: readonly ChatChunk[]) => WireStep[];
export type WholeBody = (json: string) => WireStep[];

const done = "data: [DONE]\n\n";

export const cleanBody: StreamBody = (chunks) => [...events(chunks), write(done)];

export const bodyWithoutDone: StreamBody = (chunks) => events(chunks);

export const openBody: StreamBody = (chunks) => [...events(chunks), { type: "hold" }];

/** CRLF, and a comment now and then. */
export const crlfBody: StreamBody = (chunks) => [
  write(": the demo speaks\r\n\r\n"),
  ...chunks.flatMap((chunk, at) => [
    write(`${at % 5 === 4 ? ": still here\r\n" : ""}data: ${JSON.stringify(chunk)}\r\n\r\n`),
    { type: "pace" } as const,
  ]),
  write("data: [DONE]\r\n\r\n"),
];

export const bytewiseBody: StreamBody = (chunks) => {
  const utf8 = new TextEncoder();
  return cleanBody(chunks).flatMap((step): WireStep[] => {
    if (step.type !== "write" || typeof step.data !== "string") return [step];
    return Array.from(utf8.encode(step.data), (byte) => write(Uint8Array.of(byte)));
  });
};

/** Half of the reply, and the last event only half of it: in the middle of a word or of arguments. */
export const cutBody: StreamBody = (chunks) => {
  const half = chunks.slice(0, Math.ceil(chunks.length / 2));
  const next = `data: ${JSON.stringify(chunks[half.length] ?? {})}\n\n`;
  return [...events(half), write(next.slice(0, next.length / 2)), { type: "cut" }];
};

export const errorBody: StreamBody = (chunks) => [
  ...events(chunks.slice(0, Math.ceil(chunks.length / 2))),
  write(
    `data: ${JSON.stringify({ error: { message: "The demo has failed on purpose.", type: "server_error", code: "demo_failure" } })}\n\n`,
  ),
];

export const slowBody: StreamBody = (chunks) =>
  cleanBody(chunks).flatMap((step) => (step.type === "pace" ? [{ type: "wait", ms: 50 }] : [step]));

export const silentBody: StreamBody = (chunks) => [{ type: "silence" }, ...cleanBody(chunks)];

export const wholeBody: WholeBody = (json) => [write(json)];

export const cutWhole: WholeBody = (json) => [
  write(json.slice(0, json.length / 2)),
  { type: "cut" },
];

export const silentWhole: WholeBody = (json) => [{ type: "silence" }, write(json)];

function events(chunks: readonly ChatChunk[]): WireStep[] {
  return chunks.flatMap((chunk) => [write(`data: ${JSON.stringify(chunk)}\n\n`), { type: "pace" }]);
}

function write(data: string | Uint8Array): WireStep {
  return { type: "write", data };
}
