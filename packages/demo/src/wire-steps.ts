import type { ChatChunk } from "@deltawire/wire";

/** What the server does with the socket, in order. The reply ends after the last step. */
export type WireStep =
  | { type: "write"; data: string | Uint8Array }
  /** Waits for the configured delay between chunks. */
  | { type: "pace" }
  | { type: "wait"; ms: number }
  /** Waits for the configured duration of silence. */
  | { type: "silence" }
  /** Destroys the socket. */
  | { type: "destroy" }
  /** Keeps the connection open without sending anything. */
  | { type: "keep_open" };

export type StreamBodyBuilder = (chunks: readonly ChatChunk[]) => WireStep[];
export type JsonBodyBuilder = (json: string) => WireStep[];

const doneEvent = "data: [DONE]\n\n";

export const buildCleanBody: StreamBodyBuilder = (chunks) => [
  ...toEventSteps(chunks),
  createWriteStep(doneEvent),
];

export const buildBodyWithoutDone: StreamBodyBuilder = (chunks) => toEventSteps(chunks);

export const buildUnclosedBody: StreamBodyBuilder = (chunks) => [
  ...toEventSteps(chunks),
  { type: "keep_open" },
];

/** Uses CRLF line endings and inserts some comments. */
export const buildCrlfBody: StreamBodyBuilder = (chunks) => [
  createWriteStep(": demo\r\n\r\n"),
  ...chunks.flatMap((chunk, index) => [
    createWriteStep(
      `${index % 5 === 4 ? ": still here\r\n" : ""}data: ${JSON.stringify(chunk)}\r\n\r\n`,
    ),
    { type: "pace" } as const,
  ]),
  createWriteStep("data: [DONE]\r\n\r\n"),
];

export const buildByteByByteBody: StreamBodyBuilder = (chunks) => {
  const utf8 = new TextEncoder();
  return buildCleanBody(chunks).flatMap((step): WireStep[] => {
    if (step.type !== "write" || typeof step.data !== "string") return [step];
    return Array.from(utf8.encode(step.data), (byte) => createWriteStep(Uint8Array.of(byte)));
  });
};

/** Sends half of the reply, then destroys the connection in the middle of an event. */
export const buildTruncatedBody: StreamBodyBuilder = (chunks) => {
  const firstHalf = chunks.slice(0, Math.ceil(chunks.length / 2));
  const nextEvent = `data: ${JSON.stringify(chunks[firstHalf.length] ?? {})}\n\n`;
  return [
    ...toEventSteps(firstHalf),
    createWriteStep(nextEvent.slice(0, nextEvent.length / 2)),
    { type: "destroy" },
  ];
};

export const buildErrorBody: StreamBodyBuilder = (chunks) => [
  ...toEventSteps(chunks.slice(0, Math.ceil(chunks.length / 2))),
  createWriteStep(
    `data: ${JSON.stringify({ error: { message: "The demo failed on purpose.", type: "server_error", code: "demo_failure" } })}\n\n`,
  ),
];

export const buildSlowBody: StreamBodyBuilder = (chunks) =>
  buildCleanBody(chunks).flatMap((step) =>
    step.type === "pace" ? [{ type: "wait", ms: 50 }] : [step],
  );

export const buildSilentBody: StreamBodyBuilder = (chunks) => [
  { type: "silence" },
  ...buildCleanBody(chunks),
];

export const buildPlainJsonBody: JsonBodyBuilder = (json) => [createWriteStep(json)];

export const buildTruncatedJsonBody: JsonBodyBuilder = (json) => [
  createWriteStep(json.slice(0, json.length / 2)),
  { type: "destroy" },
];

export const buildSilentJsonBody: JsonBodyBuilder = (json) => [
  { type: "silence" },
  createWriteStep(json),
];

function toEventSteps(chunks: readonly ChatChunk[]): WireStep[] {
  return chunks.flatMap((chunk) => [
    createWriteStep(`data: ${JSON.stringify(chunk)}\n\n`),
    { type: "pace" },
  ]);
}

function createWriteStep(data: string | Uint8Array): WireStep {
  return { type: "write", data };
}
