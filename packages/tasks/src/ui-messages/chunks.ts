import type { Block, OutputItem, RetractedItem, TaskFailure, TaskStatus, Usage } from "../items.ts";
import type { JsonObject } from "../json.ts";
import type { TaskApproval } from "../state.ts";

/* The chunks of the `ai` SDK's UI message stream that a task can become, as version 7 has them. */

/** Of the message that a task is. With the last two a client that comes back is given what it has not seen. */
export interface UiMetadata {
  status?: TaskStatus;
  usage?: Usage;
  error?: TaskFailure;
  task_id: string;
  sequence_number?: number;
}

export type UiFinishReason =
  | "stop"
  | "length"
  | "content-filter"
  | "tool-calls"
  | "error"
  | "interrupted"
  | "other";

export type UiSource =
  | { type: "source"; sourceType: "url"; id: string; url: string; title?: string }
  | { type: "source"; sourceType: "document"; id: string; mediaType: string; title: string };

export interface UiCitation {
  source: UiSource;
  startIndex: number;
  endIndex: number;
}

export type UiInputPart =
  | { type: "text"; text: string }
  | { type: "file"; mediaType: string; url: string; filename?: string };

interface OfCall {
  toolCallId: string;
}
/** Run on the server: a client's `onToolCall` is not asked to run it. */
interface OfInput extends OfCall {
  toolName: string;
  dynamic: true;
  providerExecuted: true;
  toolMetadata?: JsonObject;
}
type Provider = { deltawire: JsonObject };

/** What a task's stream has and a UI message has not. */
export type UiData =
  /** A sub-agent's task. */
  | { type: "data-subtask"; id: string; data: UiSubtask }
  /** One of its items, when it is closed and when it changes afterwards. */
  | {
      type: "data-subtask-item";
      id: string;
      data: { task_id: string; output_index: number; item: OutputItem | RetractedItem };
    }
  /** A question that belongs to no call; it is answered at `/api/approvals/:id`. */
  | { type: "data-approval"; id: string; data: TaskApproval }
  | { type: "data-block"; id: string; data: Block }
  /** Something of an earlier step, which cannot be taken out of a message any more. */
  | { type: "data-retracted"; id: string; data: { item_id: string; reason: string } }
  // For `onData` alone; the message does not keep them.
  | {
      type: "data-subtask-delta";
      transient: true;
      data: { task_id: string; item_id: string; kind: "text" | "reasoning"; delta: string };
    }
  | {
      type: "data-tool-progress";
      transient: true;
      data: { task_id: string; call_id: string; message?: string; fraction?: number };
    }
  | { type: "data-notice"; transient: true; data: { code: string; message: string } };

export interface UiSubtask {
  task_id: string;
  parent_task_id?: string;
  parent_call_id?: string;
  agent: string;
  model: string;
  depth: number;
  status: TaskStatus;
  round: number;
  error?: TaskFailure;
}

export type UiChunk =
  | { type: "start"; messageId: string; messageMetadata: UiMetadata }
  | { type: "message-metadata"; messageMetadata: UiMetadata }
  | { type: "finish"; finishReason: UiFinishReason; messageMetadata: UiMetadata }
  | { type: "abort"; reason?: string }
  | { type: "error"; errorText: string }
  | { type: "start-step" }
  | { type: "finish-step" }
  /** Takes all parts of the current step out of the message. */
  | { type: "reset-step" }
  | { type: "text-start"; id: string }
  | { type: "text-delta"; id: string; delta: string }
  | { type: "text-end"; id: string; citations?: UiCitation[] }
  | { type: "reasoning-start"; id: string }
  | { type: "reasoning-delta"; id: string; delta: string }
  | { type: "reasoning-end"; id: string }
  | ({ type: "tool-input-start" } & OfInput)
  | ({ type: "tool-input-delta"; inputTextDelta: string } & OfCall)
  | ({ type: "tool-input-available"; input: unknown } & OfInput)
  | ({ type: "tool-input-error"; input: unknown; errorText: string } & OfInput)
  | ({
      type: "tool-approval-request";
      approvalId: string;
      approvalDescriptor: TaskApproval;
      reason?: string;
    } & OfCall)
  | { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }
  /** `preliminary`: what a running tool has streamed so far. */
  | ({ type: "tool-output-available"; output: Block[]; preliminary?: true } & OfCall)
  | ({ type: "tool-output-error"; errorText: string } & OfCall)
  | ({ type: "tool-output-denied" } & OfCall)
  | {
      type: "source-url";
      sourceId: string;
      url: string;
      title?: string;
      providerMetadata: Provider;
    }
  | {
      type: "source-document";
      sourceId: string;
      mediaType: string;
      title: string;
      providerMetadata: Provider;
    }
  | { type: "file"; url: string; mediaType: string }
  | { type: "steering-message"; id: string; parts: UiInputPart[] }
  | UiData;
