import type { BlobStore, Effect } from "@deltawire/tasks";
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
  progress(message: string, fraction?: number): void;
}

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
   * Returns `{ message_content, block_list }`, or any value, which becomes both. What it throws is told to the model.
   */
  run: (input: Input, context: ToolContext) => unknown;
}
