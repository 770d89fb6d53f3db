import type { JsonObject } from "../json.ts";
import type { Limits, Reference, Usage } from "../items.ts";
import type { TaskApproval, TaskReference, TaskState } from "../state.ts";

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

export interface Attachment {
  readonly kind: "image" | "audio" | "file";
  /** A blob's address, or one that the model's server can fetch. */
  readonly url: string;
  readonly filename?: string;
  readonly media_type?: string;
  /** In bytes. */
  readonly size?: number;
}

export interface ContextSnippet {
  readonly kind: "file" | "selection" | "page" | "text";
  readonly title: string;
  readonly text: string;
  readonly url?: string;
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

export interface ChatSettings {
  /** One of the two; neither: as the gateway is configured. */
  readonly agent?: string;
  readonly model?: string;
  /** The user's system prompt. */
  readonly instructions?: string;
  readonly tool_groups?: readonly string[];
  /** By name; absent: all that are configured. */
  readonly skills?: readonly string[];
  readonly options?: ModelOptions;
  readonly limits?: Limits;
  /** When a person is asked before the model gets a tool's result; absent: as the gateway is configured. */
  readonly results?: "never" | "on error" | "always";
  /** How many turns of the conversation the model is told; absent: as the gateway is configured. 0: all. */
  readonly turns?: number;
  readonly privacy?: PrivacySettings;
  /** An IANA name, for the date in the system prompt. */
  readonly time_zone?: string;
  /** Every message of the user tells its time of day. */
  readonly exact_time?: boolean;
  /** Who names the chat; absent: the model that answers. */
  readonly title_model?: string;
}

/** Parameters of a request by their names on the Responses wire. `null` takes out what a lower layer has set. */
export type ModelOptions = JsonObject;

export type PrivacyKind =
  | "email"
  | "phone"
  | "card"
  | "key"
  | "password"
  | "id"
  | "name"
  | "text"
  | "pattern";

export interface PrivacySettings {
  readonly enabled: boolean;
  readonly fields: readonly PrivacyField[];
}

/**
 * `name` and `text` need a `value`, `pattern` needs a `pattern`. The others find what looks like one, or the very `value`
 * if there is one.
 */
export interface PrivacyField {
  readonly kind: PrivacyKind;
  readonly value?: string;
  readonly pattern?: string;
  /** For the placeholder: `{{LABEL_1_x7f3}}`; the kind unless it says otherwise. */
  readonly label?: string;
}
