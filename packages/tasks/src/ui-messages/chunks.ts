import type { Block, OutputItem, RetractedItem, TaskFailure, TaskStatus, Usage } from "../items.ts";
import type { JsonObject } from "../json.ts";
import type { TaskApproval } from "../state.ts";

/* The chunks of the UI message stream of the `ai` SDK, version 7, that a task is converted to. */

/** Metadata of the message of a task. With `task_id` and `sequence_number`, a client resumes where it was disconnected. */
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

interface ToolCallFields {
  toolCallId: string;
}
/** The tool runs on the server, so `onToolCall` of the client is not called. */
interface ToolInputFields extends ToolCallFields {
  toolName: string;
  dynamic: true;
  providerExecuted: true;
  toolMetadata?: JsonObject;
}
type ProviderMetadata = { deltawire: JsonObject };

/** Data parts, for content that no standard part of a UI message can represent. */
export type UiData =
  /** The task of a sub-agent. */
  | { type: "data-subtask"; id: string; data: UiSubtask }
  /** An item of a sub-agent, sent when it is closed and when it changes afterwards. */
  | {
      type: "data-subtask-item";
      id: string;
      data: { task_id: string; output_index: number; item: OutputItem | RetractedItem };
    }
  /** An approval without a call, to be resolved with `POST /api/approvals/:id`. */
  | { type: "data-approval"; id: string; data: TaskApproval }
  | { type: "data-block"; id: string; data: Block }
  /** A retracted item of an earlier step, which can no longer be removed from the message. */
  | { type: "data-retracted"; id: string; data: { item_id: string; reason: string } }
  // Only for `onData`: transient parts are not added to the message.
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
  /** Removes all parts of the current step from the message. */
  | { type: "reset-step" }
  | { type: "text-start"; id: string }
  | { type: "text-delta"; id: string; delta: string }
  | { type: "text-end"; id: string; citations?: UiCitation[] }
  | { type: "reasoning-start"; id: string }
  | { type: "reasoning-delta"; id: string; delta: string }
  | { type: "reasoning-end"; id: string }
  | ({ type: "tool-input-start" } & ToolInputFields)
  | ({ type: "tool-input-delta"; inputTextDelta: string } & ToolCallFields)
  | ({ type: "tool-input-available"; input: unknown } & ToolInputFields)
  | ({ type: "tool-input-error"; input: unknown; errorText: string } & ToolInputFields)
  | ({
      type: "tool-approval-request";
      approvalId: string;
      approvalDescriptor: TaskApproval;
      reason?: string;
    } & ToolCallFields)
  | { type: "tool-approval-response"; approvalId: string; approved: boolean; reason?: string }
  /** `preliminary`: the output of a running tool so far. */
  | ({ type: "tool-output-available"; output: Block[]; preliminary?: true } & ToolCallFields)
  | ({ type: "tool-output-error"; errorText: string } & ToolCallFields)
  | ({ type: "tool-output-denied" } & ToolCallFields)
  | {
      type: "source-url";
      sourceId: string;
      url: string;
      title?: string;
      providerMetadata: ProviderMetadata;
    }
  | {
      type: "source-document";
      sourceId: string;
      mediaType: string;
      title: string;
      providerMetadata: ProviderMetadata;
    }
  | { type: "file"; url: string; mediaType: string }
  | { type: "steering-message"; id: string; parts: UiInputPart[] }
  | UiData;
