import type { BlobStore, MessageBus, TaskLimits, TaskStatus } from "@deltawire/tasks";
import type {
  AddedNode,
  ChatSettings,
  ChatUpdate,
  ChatStore,
  StoredChat,
  ModelOptions,
  RunningAnswer,
} from "@deltawire/tasks/chats";
import type { Model, ModelCapabilities } from "../model.ts";
import type { Runtime } from "../runtime.ts";
import type { ResultPolicy } from "../tool.ts";
import type { AgentRequest } from "../task-request.ts";
import type { ModelPrice } from "../task/usage.ts";
import type { Skill } from "./skills.ts";

/** The methods of a store that chats need to share it with other processes. */
export interface SharedChatStore {
  /** True if several processes may use the store at the same time. */
  readonly isShared: boolean;
  /**
   * Reserves a periodic job, so that only one of several processes runs it. Returns true if it was last reserved at least
   * `intervalMs` ago.
   */
  claimJob(name: string, intervalMs: number): Promise<boolean>;
  /** Returns the status of each root task. Unknown tasks are left out. */
  listHeads(rootTaskIds: readonly string[]): Promise<{ task_id: string; status: TaskStatus }[]>;
}

/** In milliseconds. */
export interface SweepIntervals {
  /** How often a process checks whether a search is due. */
  check: number;
  /** How often one of the processes searches. */
  search: number;
  /** How long the end of a task may be missing from its chat, because the process that ran it is about to store it. */
  ended: number;
  /**
   * How long the task of an answer may be missing, because the process that received the message is about to start it. If that
   * takes longer, the process reports several times within this period that it is still starting the task.
   */
  unstarted: number;
  /** How long a title may be missing after an answer: the process that stored the answer is generating it. */
  title: number;
}

export interface ChatsOptions {
  store: ChatStore & BlobStore & SharedChatStore;
  runtime: Pick<
    Runtime,
    | "start"
    | "request"
    | "state"
    | "live"
    | "subscribe"
    | "subscribeResumed"
    | "cancel"
    | "transcript"
  >;
  /** Makes changes of other processes arrive sooner. Without it, they are found by polling the store. */
  bus?: MessageBus | undefined;
  /** Throws if the model is unknown. */
  getModelInfo: (name: string) => Promise<ModelInfo>;
  /** Returns undefined if the agent is unknown. */
  getAgentInfo: (name: string) => AgentInfo | undefined;
  /** Returns the first name in the settings that does not exist, or undefined if all exist. */
  findUnknownName?: (settings: ChatSettings) => Promise<NameProblem | undefined>;
  /** Throws the error that starting the task would throw. Called before the chat is changed. */
  checkRequest: (request: AgentRequest) => Promise<void>;
  /** Returns the model with this name. Used for titles, and to mask private values. */
  getModel: (name: string) => Model;
  /**
   * Returns the model with this name, whose usage counts toward the limits of an access key: that of the task whose chat is given a
   * title. Its requests fail if the key may not use the model. Default: `getModel`.
   */
  getMeteredModel?: (name: string, accessKey: string) => Model;
  getPrice?: (model: string) => ModelPrice | undefined;
  defaults: ChatDefaults;
  /** Returns the agent or model for chats that select none, or an empty object. The default may change as models are discovered. */
  defaultResponder?: () => Promise<Pick<ChatSettings, "agent" | "model">>;
  skills?: readonly Skill[];
  /** How often a shared store is searched for answers of processes that have exited. */
  sweepIntervals?: Partial<SweepIntervals>;
  now?: () => number;
  newId?: (prefix: string) => string;
  onFailure?: (message: string, cause: unknown) => void;
}

/** A name in chat settings that does not exist. */
export interface NameProblem {
  /** Path in the settings, for example `tool_groups[0]`. */
  readonly path: string;
  readonly reason: string;
}

export interface ModelInfo {
  readonly capabilities: ModelCapabilities;
  readonly options: ModelOptions;
}

export interface AgentInfo {
  readonly model: string;
  readonly options: ModelOptions;
  /** Tool groups of the agent, in addition to those of the chat. */
  readonly toolGroups?: readonly string[];
}

/** Defaults for settings that a chat does not set. */
export interface ChatDefaults {
  readonly settings: Pick<
    ChatSettings,
    "instructions" | "tool_groups" | "options" | "privacy" | "title_model"
  >;
  readonly limits: TaskLimits;
  /** How long an unavailable model is retried, in seconds. Undefined: the default of the runtime. */
  readonly retrySeconds?: number | undefined;
  /** When a user must approve the result of a tool before the model sees it. Default `never`. */
  readonly resultApproval?: ResultPolicy;
  /** Maximum number of turns that are sent to the model; 0 sends all. */
  readonly maxTurns: number;
  readonly timeZone: string;
  /** Whether the model receives the time of each message. */
  readonly addMessageTimes: boolean;
  /** Whether models generate chat titles. */
  readonly generateTitles: boolean;
}

/** Owner and id of new chats. */
export interface CreateChatOptions {
  /** Owner of the access key of the request; default "". */
  readonly owner?: string;
  /**
   * Id of the new chat, or of the first one if several are created. If the owner already has a chat with this id, it is returned
   * instead, so that a request can be retried.
   */
  readonly reservedId?: string | undefined;
}

/** Result of a change. Unchanged nodes of `before` and `after` are the same objects. */
export interface ChatChangeResult {
  readonly before: StoredChat;
  readonly after: StoredChat;
  /** The added node. */
  readonly node_id?: string;
  readonly version_id?: string;
  /** Ids for undoing the deletions. */
  readonly removal_ids?: readonly string[];
}

export interface ChatEditResult extends ChatChangeResult {
  /** The node added by each edit, in order. */
  readonly added: readonly (AddedNode | null)[];
}

/** Result of a request that started an answer. */
export interface SendResult extends ChatChangeResult {
  /** The node of the answer. */
  readonly node_id: string;
  readonly version_id: string;
  readonly task_id: string;
}

/** The stopped answers, and the changes of the chat since the stop was requested. */
export interface StopResult {
  readonly answers: readonly RunningAnswer[];
  readonly update: ChatUpdate;
}
