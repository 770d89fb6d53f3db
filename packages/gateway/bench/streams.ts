import { createChatText, createChatTools } from "./chat-streams.ts";
import { noStamp, type WrittenStream } from "./deltas.ts";
import { createMessagesText, createMessagesTools } from "./messages-streams.ts";
import { createResponsesText, createResponsesTools } from "./responses-streams.ts";

/** The contents of a stream. Encoded in the model name, so that every target forwards it. */
export interface StreamShape {
  kind: "text" | "tools";
  /** Deltas of text, or of tool call arguments. */
  chunks: number;
  /** Milliseconds between two chunks; 0: as fast as possible. */
  pace: number;
}

export type Wire = "chat" | "responses" | "messages";

export const wirePaths: Readonly<Record<Wire, string>> = {
  chat: "/v1/chat/completions",
  responses: "/v1/responses",
  messages: "/v1/messages",
};

/** A stream ready to be sent, already in chunked encoding. */
export interface PreparedStream {
  opening: Buffer;
  /** One write per chunk, with space for the time of sending. */
  chunks: readonly { bytes: Buffer; stampAt: number }[];
  closing(stamps: readonly number[]): Buffer;
}

export function formatModelName({ kind, chunks, pace }: StreamShape): string {
  return `bench-${kind}-${chunks}-${pace}`;
}

export function parseModelName(model: string): StreamShape | undefined {
  const match = /bench-(text|tools)-(\d+)-(\d+)$/.exec(model);
  if (match === null) return undefined;
  const [, kind, chunks, pace] = match;
  return { kind: kind as StreamShape["kind"], chunks: Number(chunks), pace: Number(pace) };
}

export function prepareStream(wire: Wire, shape: StreamShape): PreparedStream {
  const { opening, chunks, closing } = writers[wire][shape.kind](shape.chunks);
  return {
    opening: encodeHttpChunk(opening),
    chunks: chunks.map((text) => {
      const bytes = encodeHttpChunk(text);
      return { bytes, stampAt: bytes.indexOf(noStamp) };
    }),
    closing: (stamps) => encodeHttpChunk(closing(stamps)),
  };
}

const writers: Record<Wire, Record<StreamShape["kind"], (chunks: number) => WrittenStream>> = {
  chat: { text: createChatText, tools: createChatTools },
  responses: { text: createResponsesText, tools: createResponsesTools },
  messages: { text: createMessagesText, tools: createMessagesTools },
};

function encodeHttpChunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}
