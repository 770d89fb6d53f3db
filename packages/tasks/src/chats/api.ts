import type { Usage } from "../items.ts";
import type { JsonObject } from "../json.ts";
import type { TaskApproval, TaskInput } from "../state.ts";
import type { Added } from "./apply-edit.ts";
import type {
  ChatSince,
  ChatSummary,
  ChatVariable,
  FoundChat,
  RunningAnswer,
} from "./chat-store.ts";
import type { ChatPatch } from "./in-out/patch.ts";
import type { Chat, ChatSettings, ModelType } from "./shapes.ts";

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
} from "./bodies.ts";

/* The replies of `/api/chats…`, for those who serve them and those who call them. */

/** `GET /api/chats/{chat}` */
export interface ChatReply {
  readonly chat: Chat;
  readonly stamp: number;
  readonly usage: Usage;
  readonly deleted_at?: string;
}

/** `GET /api/chats/{chat}?since=`; the whole chat where it cannot be told what has changed since. */
export type ChatSinceReply = ChatSince | ChatReply;

/** `GET /api/chats` without `q`, and with it. */
export interface ChatListReply {
  /** From which `GET /api/chats/events?after=` tells all that changes after the list was read. */
  readonly stamp: number;
  readonly data: readonly ChatSummary[];
  readonly has_more: boolean;
  readonly next_before: string | null;
}
export interface ChatSearchReply {
  readonly data: readonly FoundChat[];
}

/** What every change answers with. */
export interface ChangedReply extends ChatPatch {
  /** Of the chat that was changed: whoever has it at another stamp has missed something, and reads it anew. */
  readonly from: number;
  /** Of what was added. */
  readonly node_id?: string;
  readonly version_id?: string;
  /** By which `POST /api/chats/{chat}/undo` puts back what a delete took, in order. */
  readonly removal_ids?: readonly string[];
}

/** `POST /api/chats/{chat}/edits`: with what each of them added, in order. */
export interface EditsReply extends ChangedReply {
  readonly added: readonly (Added | null)[];
}

/** The answer is on its way: it is followed as a task. */
export interface SentReply extends ChangedReply {
  readonly node_id: string;
  readonly version_id: string;
  readonly task_id: string;
}

/** `POST /api/chats/{chat}/stop`: the answers that were stopped, and what has become of the chat meanwhile. */
export interface StoppedReply extends ChatSince {
  readonly data: readonly RunningAnswer[];
}

/** `POST /api/chats/import` */
export interface ImportReply {
  readonly data: readonly ChatSummary[];
}

/** `GET /api/chats/tags`: those in use. */
export interface TagsReply {
  readonly data: readonly { readonly tag: string; readonly chats: number }[];
}

/** `GET /api/chats/{chat}/removals`: what can be undone, the newest first. */
export interface RemovalsReply {
  readonly data: readonly RemovalSummary[];
}
export interface RemovalSummary {
  readonly removal_id: string;
  readonly removed_at: string;
  readonly what: "nodes" | "version";
  /** How many nodes or versions went. */
  readonly count: number;
  /** The beginning of the first words that went. */
  readonly excerpt: string;
}

/** `GET /api/chats/{chat}/variables` */
export interface VariablesReply {
  readonly data: readonly ChatVariable[];
}

/** `POST /api/blobs`: to be put into an attachment. */
export interface BlobReply {
  readonly url: string;
  readonly media_type: string;
  readonly size: number;
  readonly filename?: string;
}

/** `GET /api/approvals`: what all tasks that have not ended wait for, in chats and outside of them, the oldest first. */
export interface ApprovalsReply {
  readonly data: readonly PendingApproval[];
}
export interface PendingApproval {
  /** With the blocks of a result that is held, and the question of a limit. */
  readonly approval: TaskApproval;
  readonly root_task_id: string;
  /** When it was asked, in ISO 8601. */
  readonly requested_at: string;
  /** Whose task it is that asks, and how deep below the root that stands: 0 is the root itself. */
  readonly agent: string;
  readonly depth: number;
  /** What it is about, as the model has written it. */
  readonly call?: { readonly name: string; readonly arguments: string };
  /** Of a call, whose arguments may be changed: their JSON Schema, as the model is told it. */
  readonly input_schema?: JsonObject;
  /** Of a result that is held: what its run came to, "completed", "failed", … */
  readonly outcome?: string;
  /** The answer that waits; absent for a task of no chat. */
  readonly chat?: AnswerPlace;
}
export interface AnswerPlace {
  readonly chat_id: string;
  readonly title: string;
  /** What names a chat that has no title. */
  readonly first_words: string;
  readonly node_id: string;
  readonly version_id: string;
}

/** `POST /api/approvals/{approval}` */
export interface DecidedReply {
  readonly approval: TaskApproval;
}

/** `POST /api/tasks/{task}/input`: now, or when the task would end. */
export type InputDelivery = TaskInput["delivery"];
export interface InputReply {
  readonly task_id: string;
  readonly delivery: InputDelivery;
}

/** `GET /api/chats/choices`: what a chat can be set to. */
export interface ChatChoices {
  readonly models: readonly ModelChoice[];
  /** Where models are. `problem`: why it has listed none, or why its last request failed. */
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
    /** In which case a model reads it. */
    readonly when?: string;
  }[];
  /** What a chat has that says nothing else. */
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
      | "results"
      | "turns"
      | "time_zone"
      | "exact_time"
    >
  > & {
    /** Whether a model names a chat that nobody has named. */
    readonly titles: boolean;
  };

/** A model, and what it can do: what it cannot is left out of what it is sent, with a word to the user. */
export interface ModelChoice {
  readonly name: string;
  readonly type: ModelType;
  /** What it takes beside text. */
  readonly images: boolean;
  readonly audio: boolean;
  /** PDF files as they are. */
  readonly files: boolean;
  readonly tools: boolean;
  /** Words for the reasoning effort; none for a model that does not reason. */
  readonly efforts: readonly string[];
  /** Options that it is known not to take, by their names on the Responses wire or as paths: `text.verbosity`. */
  readonly refuses: readonly string[];
}

/** An event of `GET /api/chats/events`; its id is the stamp to come back with. */
export type ChatFeedEvent =
  | { readonly type: "chats.opened"; readonly head: number; readonly heartbeat_ms: number }
  /** Something else may wait for people, in a chat or outside of them: `GET /api/approvals` has all of it. */
  | { readonly type: "approvals.changed" }
  /** What was removed since is no longer known: read the list anew, and go on from `head`. */
  | { readonly type: "chats.reset"; readonly head: number }
  | { readonly type: "chats.heartbeat"; readonly head: number };
