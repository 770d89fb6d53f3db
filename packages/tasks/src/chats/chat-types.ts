import type { Reference, Usage } from "../items.ts";
import type { TaskApproval, TaskReference, TaskState } from "../state.ts";
import type { Attachment, ChatSettings, ContextSnippet, ModelOptions } from "./chat-schemas.ts";

export type {
  Attachment,
  ChatSettings,
  ContextSnippet,
  ModelOptions,
  PrivacyField,
  PrivacyKind,
  PrivacySettings,
} from "./chat-schemas.ts";

/*
 * A conversation is a tree of nodes. The children of a node are its branches. A user message or an answer also has versions:
 * an edit or a repeated answer adds one. Branches and versions are chosen independently.
 */

/** What a model produces, which also determines the API that is called. */
export type ModelType = "chat" | "image-gen" | "image-edit" | "audio-stt" | "audio-tts";

export interface Chat {
  readonly chat_id: string;
  readonly title: string;
  /** A model names a chat once, and only if the user has not named it. */
  readonly title_by: "nobody" | "model" | "user";
  readonly created_at: string;
  readonly updated_at: string;
  /** Increased by every edit of a user, but not by what a model adds to its answer. */
  readonly revision: number;
  readonly settings: ChatSettings;
  readonly tags: readonly string[];
  readonly pinned: boolean;
  readonly nodes: Readonly<Record<string, ChatNode>>;
  /** Nodes without a parent. */
  readonly roots: readonly string[];
  /**
   * The child that the current path takes, by parent id; "" is the parent of the roots. Every node with children has an entry.
   */
  readonly chosen: Readonly<Record<string, string>>;
  /** Node ids in the order in which they were bookmarked. */
  readonly bookmarks: readonly string[];
  /** Usage of titles and of deleted messages. */
  readonly extra_usage?: Usage;
}

export type ChatNode = UserNode | AnswerNode | SeparatorNode;

interface NodeBase {
  readonly node_id: string;
  readonly parent: string | null;
  readonly children: readonly string[];
  readonly created_at: string;
  /** Always sent to the model, even if it is before a separator or outside the window. */
  readonly pinned: boolean;
  /** Never sent to the model. */
  readonly hidden: boolean;
}
export interface UserNode extends NodeBase {
  readonly kind: "user";
  readonly versions: readonly UserVersion[];
  /** Id of the version that is shown and sent. */
  readonly version: string;
}
export interface AnswerNode extends NodeBase {
  readonly kind: "answer";
  readonly versions: readonly AnswerVersion[];
  readonly version: string;
}
/** Nodes before a separator are not sent to the model. */
export interface SeparatorNode extends NodeBase {
  readonly kind: "separator";
}

export interface UserVersion {
  readonly version_id: string;
  readonly created_at: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Context that the user added: a file, a selection, a page. Stored apart from the text. */
  readonly contexts: readonly ContextSnippet[];
  /** Overrides the options of the chat for the answer to this message. */
  readonly options?: ModelOptions;
  /**
   * The version of the parent that was shown when this message was written. Absent if the parent had only one version, or if it
   * is not known.
   */
  readonly follows?: string;
}

export type AnswerStatus = "running" | "completed" | "aborted" | "error" | "timeout";

export interface AnswerVersion extends AnswerTask {
  readonly version_id: string;
  readonly created_at: string;
  /** `user`: written or edited by a user, or imported. */
  readonly by: "model" | "user";
  readonly status: AnswerStatus;
  readonly model_type: ModelType;
  readonly agent?: string;
  readonly model?: string;
  /** The task that produced this answer. */
  readonly task_id?: string;
  /** True while a running answer is waiting for a user's decision. */
  readonly waiting?: boolean;
  /** The version of the message that this version answers. Absent if it is not known. */
  readonly answers?: string;
  /** The version of the same node that this one continues; together they are one answer. */
  readonly continues?: string;
  /** Id of the mask for private values that was active; the same for the same privacy fields. Absent if nothing was masked. */
  readonly masked_with?: string;
  readonly error?: AnswerError;
  /** Milliseconds from sending to the end. */
  readonly time_ms?: number;
  /** Messages for the user about content that was omitted or changed for this model. */
  readonly notices: readonly string[];
}

/**
 * The state of an answer's task as `reduce` returns it: the fields of the root task, and the tasks of its sub-agents. Empty
 * fields are absent. `toAnswerTree` rebuilds the tree. An answer that was written or imported has only `output`.
 */
export interface AnswerTask extends Partial<
  Pick<
    TaskState,
    | "usage"
    | "tree_usage"
    | "round"
    | "executions"
    | "inputs"
    | "warnings"
    | "model_ms"
    | "waited_ms"
  >
> {
  readonly output: TaskState["output"];
  readonly references: readonly Reference[];
  /** References of the child tasks; each task numbers its own from 1. */
  readonly child_references?: readonly TaskReference[];
  /** The tasks of sub-agents, by the id of the call that started them. */
  readonly child_tasks?: Readonly<Record<string, TaskState>>;
  readonly approvals?: readonly TaskApproval[];
}

/** What was in progress when the answer failed. */
export type AnswerPhase = "model" | "tool" | "approval";

export interface AnswerError {
  readonly phase: AnswerPhase;
  readonly code: string;
  readonly message: string;
}
