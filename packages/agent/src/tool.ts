import type { BlobStore, Effect, Grouped } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import type { Checked, InputSchema } from "./schemas/input-schema.ts";

export type CallPolicy = "auto" | "ask once" | "ask always";
export type ResultPolicy = "never" | "on error" | "always";

/** Something that an agent can do. Made by `defineTool`, or by a tool group. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema, for the model and for people who edit arguments. */
  readonly parameters: JsonObject;
  /** What happens if it has to be run again after a crash. */
  readonly effect: Effect;
  /**
   * Who is asked before a call is run, and before its result is told to the model. Where it says nothing of results, its
   * agent does.
   */
  readonly approval: { readonly call: CallPolicy; readonly result?: ResultPolicy | undefined };
  /** Whether a person may allow it for a session with any arguments. Never for a shell. */
  readonly anyArguments: boolean;
  readonly timeoutMs: number;
  /** Whether it may run beside other calls of the same round. */
  readonly parallel: boolean;
  /** It gets placeholders where the model was told no private value. */
  readonly unmask?: false;
  /** False: `{{var:NAME}}` in its arguments is an error. For tools whose arguments are commands. */
  readonly expandsVariables?: false;
  /** Whether this very call may go without being asked about, whatever the policy: an allow-list. */
  readonly allows?: (input: unknown) => boolean | Promise<boolean>;
  check(input: unknown): Checked | Promise<Checked>;
  run(input: unknown, context: ToolContext): unknown;
}

/** What a running tool knows and may use. */
export interface ToolContext {
  /** Aborted at its time limit and when the task is cancelled. */
  readonly signal: AbortSignal;
  readonly taskId: string;
  readonly callId: string;
  /** The same when a call is run again after a crash. */
  readonly idempotencyKey: string;
  /** 1, and more after a crash. */
  readonly attempt: number;
  readonly blobs: BlobStore;
  /** How far it is. Shown while it runs, and no part of its result. */
  progress(message: string, fraction?: number): void;
  /** Adds blocks to the result while the tool runs. */
  readonly stream: ToolStream;
}

/**
 * Adds blocks to the result of a call while its tool runs: people see them at once, also after a reload. They come before what
 * the tool returns, and stay if it fails. If a person has to release the result, nothing is shown until then. One block is
 * open at a time. Throws a RangeError beyond 10,000,000 characters, 1,000 blocks or 128 MB of media.
 */
export interface ToolStream {
  /** Adds text to the open text block. After a block of another kind, or with another `id`, a new one begins. */
  text(delta: string, group?: Grouped): void;
  /** Adds a complete block. */
  block(block: StreamedBlock): void;
  /** Announces an image that is being made. Its `partial` shows how far it is, its `done` completes it. */
  image(group?: Grouped): ImageStream;
  /** Announces audio; its `done` completes it. */
  audio(about?: Grouped & { transcript?: string }): { done(audio: Media<"audio">): void };
  /** Announces a file; its `done` completes it. */
  file(about?: FileAbout): { done(file: Media<"file">): void };
}

export interface ImageStream {
  /** Replaces the image that is shown. Up to 100 of them are. */
  partial(image: Media<"image">): void;
  done(image: Media<"image">): void;
}

/** Bytes, or an address: `{ image_url: { url } }`. */
export type Media<Kind extends "image" | "audio" | "file"> =
  | { bytes: Uint8Array; media_type?: string }
  | { [Key in `${Kind}_url`]: { url: string } };

export type FileAbout = Grouped & { filename?: string; media_type?: string };

/** Blocks with the same `id` are one group, which the model can cite. */
export type StreamedBlock =
  | ({ type: "text"; text: string } & Grouped)
  | ({ type: "data"; data: unknown } & Grouped)
  | ({ type: "image" } & Media<"image"> & Grouped)
  | ({ type: "audio"; transcript?: string } & Media<"audio"> & Grouped)
  | ({ type: "file" } & Media<"file"> & FileAbout);

/** Tools that are switched on together. */
export interface ToolGroup {
  readonly name: string;
  readonly description: string;
  /** Joins the system prompt while the group is on. */
  readonly rules: string;
  readonly tools: readonly Tool[];
  /** Ends what it started: processes, connections. */
  close?(): Promise<void>;
}

export interface ToolDefinition<Input> {
  name: string;
  description: string;
  /** zod or any Standard Schema, or a JSON Schema. Nothing: an empty object. */
  input?: InputSchema<Input>;
  /** For the model, where `input` is a Standard Schema that cannot tell its JSON Schema. */
  parameters?: JsonObject;
  /** `once` unless it says otherwise: the only one that is safe for everything. */
  effect?: Effect;
  /** `auto` unless it says otherwise; results as the agent has it. */
  approval?: CallPolicy | { call?: CallPolicy; result?: ResultPolicy };
  /** True unless it says otherwise. */
  anyArguments?: boolean;
  /** Milliseconds; a minute unless it says otherwise. */
  timeout?: number;
  /** Pure tools may, others not, unless it says otherwise. */
  parallel?: boolean;
  /** False: private values stay hidden from it, as they are from the model. */
  unmask?: false;
  /** False: a call with `{{var:NAME}}` in its arguments fails. For tools whose arguments are commands. */
  expandsVariables?: false;
  /** True if this call needs no approval, whatever the policy: an allow-list. If it throws, a person is asked. */
  allows?: (input: Input) => boolean | Promise<boolean>;
  /**
   * Returns `{ message_content, block_list }`, or any value, which becomes both. What it throws is told to the model. Where
   * `context.stream` has added blocks, they come first, and nothing has to be returned.
   */
  run: (input: Input, context: ToolContext) => unknown;
}
