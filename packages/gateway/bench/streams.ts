import { chatText, chatTools } from "./chat-streams.ts";
import { noStamp, type WrittenStream } from "./deltas.ts";
import { responsesText, responsesTools } from "./responses-streams.ts";

/** The contents of a stream. Encoded in the model name, so that every target forwards it. */
export interface StreamShape {
  kind: "text" | "tools";
  /** Deltas of text, or of tool call arguments. */
  chunks: number;
  /** Milliseconds between two chunks; 0: as fast as possible. */
  pace: number;
}

export type Wire = "chat" | "responses";

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
  const found = /bench-(text|tools)-(\d+)-(\d+)$/.exec(model);
  if (found === null) return undefined;
  const [, kind, chunks, pace] = found;
  return { kind: kind as StreamShape["kind"], chunks: Number(chunks), pace: Number(pace) };
}

export function prepareStream(wire: Wire, shape: StreamShape): PreparedStream {
  const { opening, chunks, closing } = writers[wire][shape.kind](shape.chunks);
  return {
    opening: httpChunk(opening),
    chunks: chunks.map((text) => {
      const bytes = httpChunk(text);
      return { bytes, stampAt: bytes.indexOf(noStamp) };
    }),
    closing: (stamps) => httpChunk(closing(stamps)),
  };
}

const writers: Record<Wire, Record<StreamShape["kind"], (chunks: number) => WrittenStream>> = {
  chat: { text: chatText, tools: chatTools },
  responses: { text: responsesText, tools: responsesTools },
};

function httpChunk(text: string): Buffer {
  return Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
}
