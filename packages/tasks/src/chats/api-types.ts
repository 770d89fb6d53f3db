import type { Usage } from "../items.ts";
import type { JsonObject } from "../json.ts";
import type { TaskApproval, TaskInput } from "../state.ts";
import type { AddedNode } from "./apply-edit.ts";
import type {
  ChatUpdate,
  ChatSummary,
  ChatVariable,
  ChatSearchResult,
  RunningAnswer,
} from "./chat-store.ts";
import type { ChatPatch } from "./import-export/chat-patch.ts";
import type { Chat, ChatSettings, ModelType } from "./chat-types.ts";

export type {
  AnswerChoiceBody,
  DecisionBody,
  EditBody,
  EditsBody,
  ExtractBody,
  NewChatBody,
  NodeBody,
  SendBody,
  StopBody,
  UndoBody,
} from "./request-bodies.ts";

/* Response bodies of `/api/chats…`, shared by server and clients. */

/** `GET /api/chats/{chat}` */
export interface ChatReply {
  readonly chat: Chat;
  readonly stamp: number;
  readonly usage: Usage;
  readonly deleted_at?: string;
}

/** `GET /api/chats/{chat}?since=`. The complete chat if the changes since then are not known. */
export type ChatUpdateReply = ChatUpdate | ChatReply;

/** `GET /api/chats` without `q`. */
export interface ChatListReply {
  /** Pass it to `GET /api/chats/events?after=` to receive all later changes. */
  readonly stamp: number;
  readonly data: readonly ChatSummary[];
  readonly has_more: boolean;
  readonly next_before: string | null;
}
/** `GET /api/chats?q=` */
export interface ChatSearchReply {
  readonly data: readonly ChatSearchResult[];
}

/** The reply to every change. */
export interface ChangeReply extends ChatPatch {
  /** Stamp of the chat before the change. A client that has another stamp has missed changes and must reload the chat. */
  readonly from: number;
  /** Ids of the added node and version. */
  readonly node_id?: string;
  readonly version_id?: string;
  /** In order; `POST /api/chats/{chat}/undo` restores the deleted parts by these ids. */
  readonly removal_ids?: readonly string[];
}

/** `POST /api/chats/{chat}/edits`. `added`: what each edit added, in order. */
export interface EditsReply extends ChangeReply {
  readonly added: readonly (AddedNode | null)[];
}

/** The answer runs as task `task_id`. */
export interface SendReply extends ChangeReply {
  readonly node_id: string;
  readonly version_id: string;
  readonly task_id: string;
}

/** `POST /api/chats/{chat}/stop`: the stopped answers, and all changes of the chat since the client's stamp. */
export interface StopReply extends ChatUpdate {
  readonly data: readonly RunningAnswer[];
}

/** `POST /api/chats/import` */
export interface ImportReply {
  readonly data: readonly ChatSummary[];
}

/** `GET /api/chats/tags`: the tags in use. */
export interface TagsReply {
  readonly data: readonly { readonly tag: string; readonly chats: number }[];
}

/** `GET /api/chats/{chat}/removals`: deletions that can be undone, newest first. */
export interface RemovalsReply {
  readonly data: readonly RemovalSummary[];
}
export interface RemovalSummary {
  readonly removal_id: string;
  readonly removed_at: string;
  readonly type: "nodes" | "version";
  /** Number of deleted nodes or versions. */
  readonly count: number;
  /** The beginning of the first deleted text. */
  readonly excerpt: string;
}

/** `GET /api/chats/{chat}/variables` */
export interface VariablesReply {
  readonly data: readonly ChatVariable[];
}

/** `POST /api/blobs`: the fields of an attachment. */
export interface BlobReply {
  readonly url: string;
  readonly media_type: string;
  readonly size: number;
  readonly filename?: string;
}

/** `GET /api/approvals`: the pending approvals of all running tasks, with or without a chat, oldest first. */
export interface ApprovalsReply {
  readonly data: readonly PendingApproval[];
}
export interface PendingApproval {
  /** Includes the blocks of a held result and the question of a limit. */
  readonly approval: TaskApproval;
  readonly root_task_id: string;
  /** ISO 8601. */
  readonly requested_at: string;
  /** The agent that requests approval. */
  readonly agent: string;
  /** Depth of the agent's task below the root task; 0: the root task itself. */
  readonly depth: number;
  /** The tool call as the model wrote it. */
  readonly call?: { readonly name: string; readonly arguments: string };
  /** For a call with editable arguments: their JSON Schema, as it is sent to the model. */
  readonly input_schema?: JsonObject;
  /** For a held result: the outcome of its execution, such as "completed" or "failed". */
  readonly outcome?: string;
  /** The waiting answer. Absent if the task does not belong to a chat. */
  readonly chat?: AnswerLocation;
}
export interface AnswerLocation {
  readonly chat_id: string;
  readonly title: string;
  /** Shown instead of a missing title. */
  readonly opening_text: string;
  readonly node_id: string;
  readonly version_id: string;
}

/** `POST /api/approvals/{approval}` */
export interface DecisionReply {
  readonly approval: TaskApproval;
}

/**
 * `POST /api/tasks/{task}/input`: the input is sent with the next model request (`steer`), or when the task would end (`queue`).
 */
export type InputDelivery = TaskInput["delivery"];
export interface InputReply {
  readonly task_id: string;
  readonly delivery: InputDelivery;
}

/** `GET /api/chats/choices`: the available models, agents, tools and skills, and the default settings. */
export interface ChatChoices {
  readonly models: readonly ModelChoice[];
  /** `problem`: why its models cannot be listed, or why the last request to it failed. */
  readonly upstreams: readonly { readonly name: string; readonly problem?: string }[];
  readonly agents: readonly {
    readonly name: string;
    readonly description: string;
    readonly model: string;
  }[];
  readonly tool_groups: readonly string[];
  readonly skills: readonly {
    readonly name: string;
    readonly description: string;
    readonly always: boolean;
    /** When a model should read it. */
    readonly when?: string;
  }[];
  /** Used for settings that a chat does not set. */
  readonly defaults: DefaultSettings;
}

export type DefaultSettings = ChatSettings &
  Required<
    Pick<
      ChatSettings,
      | "tool_groups"
      | "skills"
      | "options"
      | "limits"
      | "result_approval"
      | "turns"
      | "time_zone"
      | "message_times"
    >
  > & {
    /** True if a model names chats that the user has not named. */
    readonly titles: boolean;
  };

/** A model and what it supports. Content that it does not support is omitted from requests, with a notice to the user. */
export interface ModelChoice {
  readonly name: string;
  readonly type: ModelType;
  /** Supported input besides text. */
  readonly images: boolean;
  readonly audio: boolean;
  /** PDF files, without conversion to text. */
  readonly files: boolean;
  readonly tools: boolean;
  /** Values of the reasoning effort; empty for a model that does not reason. */
  readonly efforts: readonly string[];
  /** Options that the model is known to reject: names or paths of the Responses API, such as `text.verbosity`. */
  readonly unsupported_options: readonly string[];
}

/** An event of `GET /api/chats/events`. To resume, send its id as `after`. */
export type ChatFeedEvent =
  | { readonly type: "chats.opened"; readonly head: number; readonly heartbeat_ms: number }
  /** Pending approvals may have changed: read `GET /api/approvals`. */
  | { readonly type: "approvals.changed" }
  /** Deletions since the requested stamp are no longer known: reload the list and continue from `head`. */
  | { readonly type: "chats.reset"; readonly head: number }
  | { readonly type: "chats.heartbeat"; readonly head: number };
