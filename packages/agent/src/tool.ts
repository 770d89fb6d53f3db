import type { BlobStore, ToolEffect, ToolGroupFields } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import type { InputCheckResult, InputSchema } from "./schemas/input-schema.ts";

export type CallPolicy = "auto" | "ask_once" | "ask_always";
export type ResultPolicy = "never" | "on_error" | "always";

/** A tool that an agent can call. Created by `defineTool` or by a tool group. */
export interface Tool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, for the model and for users who edit arguments. */
  readonly parameters: JsonObject;
  /** Decides whether an interrupted call may be run again after a crash. */
  readonly effect: ToolEffect;
  /**
   * Whether a user must approve a call before it runs, and its result before the model sees it. Without a result policy, that
   * of the agent applies.
   */
  readonly approval: { readonly call: CallPolicy; readonly result?: ResultPolicy | undefined };
  /** Whether a user may allow the tool for a session with any arguments. Always false for shells. */
  readonly allowsAnyArguments: boolean;
  readonly timeoutMs: number;
  /** Whether a call may run in parallel with other calls of the same round. */
  readonly parallel: boolean;
  /** False: private values in its arguments stay masked by placeholders, as the model sees them. */
  readonly unmask?: false;
  /** False: `{{var:NAME}}` in its arguments is an error. For tools whose arguments are commands. */
  readonly expandsVariables?: false;
  /** Allowlist: returns true if this call needs no approval, regardless of the policy. If it throws, the policy applies. */
  readonly allows?: (input: unknown) => boolean | Promise<boolean>;
  check(input: unknown): InputCheckResult | Promise<InputCheckResult>;
  run(input: unknown, context: ToolContext): unknown;
}

/** Passed to a tool with each call. */
export interface ToolContext {
  /** Aborted when the call times out or the task is stopped. */
  readonly signal: AbortSignal;
  readonly taskId: string;
  readonly callId: string;
  /** Unchanged if a call is run again after a crash. */
  readonly idempotencyKey: string;
  /** Starts at 1; higher if the call is run again after a crash. */
  readonly attempt: number;
  readonly blobs: BlobStore;
  /** Reports progress, `fraction` from 0 to 1. Shown while the tool runs; not part of its result. */
  progress(message: string, fraction?: number): void;
  /** Adds blocks to the result while the tool runs. */
  readonly stream: ToolStream;
}

/**
 * Adds blocks to the result of a call while its tool runs. Users see them immediately, and again after a reload. They precede
 * what the tool returns, and remain if it fails. If a user has to approve the result, nothing is shown until then. Only one
 * block is open at a time. Throws a RangeError beyond 10,000,000 characters, 1,000 blocks or 128 MB of media.
 */
export interface ToolStream {
  /** Adds text to the open text block. After a block of another kind, or with another `id`, a new one begins. */
  text(delta: string, group?: ToolGroupFields): void;
  /** Adds a complete block. */
  block(block: StreamedBlock): void;
  /** Announces an image that is being generated. `partial` shows a preview, `done` completes it. */
  image(group?: ToolGroupFields): ImageStream;
  /** Announces audio; `done` completes it. */
  audio(metadata?: ToolGroupFields & { transcript?: string }): {
    done(audio: Media<"audio">): void;
  };
  /** Announces a file; `done` completes it. */
  file(metadata?: FileMetadata): { done(file: Media<"file">): void };
}

export interface ImageStream {
  /** Replaces the preview. Calls after the first 100 are ignored. */
  partial(image: Media<"image">): void;
  done(image: Media<"image">): void;
}

/** Bytes, or a URL: `{ image_url: { url } }`. */
export type Media<Kind extends "image" | "audio" | "file"> =
  | { bytes: Uint8Array; media_type?: string }
  | { [Key in `${Kind}_url`]: { url: string } };

export type FileMetadata = ToolGroupFields & { filename?: string; media_type?: string };

/** Blocks with the same `id` form a group that the model can cite. */
export type StreamedBlock =
  | ({ type: "text"; text: string } & ToolGroupFields)
  | ({ type: "data"; data: unknown } & ToolGroupFields)
  | ({ type: "image" } & Media<"image"> & ToolGroupFields)
  | ({ type: "audio"; transcript?: string } & Media<"audio"> & ToolGroupFields)
  | ({ type: "file" } & Media<"file"> & FileMetadata);

/** Tools that are turned on together. */
export interface ToolGroup {
  readonly name: string;
  readonly description: string;
  /** Added to the system prompt while the group is on. */
  readonly rules: string;
  readonly tools: readonly Tool[];
  /** Stops the processes and connections that the group has started. */
  close?(): Promise<void>;
}

export interface ToolDefinition<Input> {
  name: string;
  description: string;
  /** zod or any Standard Schema, or a JSON Schema. Default: an empty object. */
  input?: InputSchema<Input>;
  /** JSON Schema for the model. Required if `input` is a Standard Schema that cannot be converted to JSON Schema. */
  parameters?: JsonObject;
  /** Default: `once`, the only effect that is safe for every tool. */
  effect?: ToolEffect;
  /** Default: `auto` for calls, and the policy of the agent for results. */
  approval?: CallPolicy | { call?: CallPolicy; result?: ResultPolicy };
  /** Whether a user may allow the tool for a session with any arguments. Default: true. */
  allowsAnyArguments?: boolean;
  /** In milliseconds; default 60,000. */
  timeoutMs?: number;
  /** Whether a call may run in parallel with other calls. Default: true for pure tools, otherwise false. */
  parallel?: boolean;
  /** False: private values in its arguments stay masked, as the model sees them. */
  unmask?: false;
  /** False: a call with `{{var:NAME}}` in its arguments fails. For tools whose arguments are commands. */
  expandsVariables?: false;
  /** Allowlist: returns true if this call needs no approval, regardless of the policy. If it throws, the policy applies. */
  allows?: (input: Input) => boolean | Promise<boolean>;
  /**
   * Returns `{ message_content, block_list }`, or any value, which is used for both. If it throws, the model receives the error
   * message. Blocks added by `context.stream` come first; then the return value may be undefined.
   */
  run: (input: Input, context: ToolContext) => unknown;
}
