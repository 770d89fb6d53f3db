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
 * A conversation. Nodes make a tree: what stands under one node side by side are branches. A node of its own has versions:
 * a message that was edited, an answer that was asked for again. Both can be switched, and neither changes the other.
 */

/** What a model makes, and so how it is asked. */
export type ModelType = "chat" | "image-gen" | "image-edit" | "audio-stt" | "audio-tts";

export interface Chat {
  readonly chat_id: string;
  readonly title: string;
  /** A model names a chat once, and never one that somebody has named. */
  readonly title_by: "nobody" | "model" | "user";
  readonly created_at: string;
  readonly updated_at: string;
  /** Goes up with every edit of a person. What a model adds to its own answer leaves it as it is. */
  readonly revision: number;
  readonly settings: ChatSettings;
  readonly tags: readonly string[];
  readonly pinned: boolean;
  readonly nodes: Readonly<Record<string, ChatNode>>;
  /** Nodes without a parent. */
  readonly roots: readonly string[];
  /** Which child the current path takes, by parent; "" is the parent of the roots. A node with children has an entry. */
  readonly chosen: Readonly<Record<string, string>>;
  /** Nodes, in the order in which they were marked. */
  readonly bookmarks: readonly string[];
  /** What was used for no message that is there: for a title, and by what was deleted. */
  readonly extra_usage?: Usage;
}

export type ChatNode = UserNode | AnswerNode | SeparatorNode;

interface OfTree {
  readonly node_id: string;
  readonly parent: string | null;
  readonly children: readonly string[];
  readonly created_at: string;
  /** Always told to the model, also before a separator and outside the window. */
  readonly pinned: boolean;
  /** Never told to the model. */
  readonly hidden: boolean;
}
export interface UserNode extends OfTree {
  readonly kind: "user";
  readonly versions: readonly UserVersion[];
  /** The id of the one that is shown and sent. */
  readonly version: string;
}
export interface AnswerNode extends OfTree {
  readonly kind: "answer";
  readonly versions: readonly AnswerVersion[];
  readonly version: string;
}
/** The model is told nothing of what stands before it. */
export interface SeparatorNode extends OfTree {
  readonly kind: "separator";
}

export interface UserVersion {
  readonly version_id: string;
  readonly created_at: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** What the user put beside the words: a file, a selection, a page. Never mixed with them. */
  readonly contexts: readonly ContextSnippet[];
  /** For the answer to this message, over those of the chat. */
  readonly options?: ModelOptions;
  /** The version of the node above that was shown when this was written; absent: that had only one, or it was not noted. */
  readonly follows?: string;
}

export type AnswerStatus = "running" | "completed" | "aborted" | "error" | "timeout";

export interface AnswerVersion extends AnswerTask {
  readonly version_id: string;
  readonly created_at: string;
  /** `user`: written or changed by hand, or imported. */
  readonly by: "model" | "user";
  readonly status: AnswerStatus;
  readonly model_type: ModelType;
  readonly agent?: string;
  readonly model?: string;
  /** The task whose state this is. */
  readonly task_id?: string;
  /** While it runs: a person has to decide something. */
  readonly waiting?: boolean;
  /** The version of its message that it answers; absent: nobody has noted it. */
  readonly answers?: string;
  /** A version of the same node that this one goes on from: both are one answer. */
  readonly continues?: string;
  /** What was masked for the model when it was made: the same for the same fields. Absent: nothing was. */
  readonly masked_with?: string;
  readonly error?: AnswerError;
  /** From the sending to the end. */
  readonly time_ms?: number;
  /** What was left out or changed for this model, in words for people. */
  readonly notices: readonly string[];
}

/**
 * The state of an answer's task as `reduce` leaves it: the fields of the root task, and what belongs to its sub-agents. What
 * would be empty is absent. `answerTree` makes the tree of it again. An answer that was written or imported has `output` only.
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
  /** Those of the tasks below: each task counts from 1. */
  readonly child_references?: readonly TaskReference[];
  /** The tasks of sub-agents, by the id of the call that asked them. */
  readonly child_tasks?: Readonly<Record<string, TaskState>>;
  readonly approvals?: readonly TaskApproval[];
}

/** Where a failure came from. */
export type AnswerPhase = "model" | "tool" | "approval";

export interface AnswerError {
  readonly phase: AnswerPhase;
  readonly code: string;
  readonly message: string;
}
