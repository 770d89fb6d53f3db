import type { BlobStore, Limits } from "@deltawire/tasks";
import type {
  Added,
  ChatSettings,
  ChatSince,
  ChatStore,
  KeptChat,
  ModelOptions,
  RunningAnswer,
} from "@deltawire/tasks/chats";
import type { Model, ModelAbilities } from "../model.ts";
import type { Runtime } from "../runtime.ts";
import type { ResultPolicy } from "../tool.ts";
import type { AgentRequest } from "../task-request.ts";
import type { Price } from "../task/usage.ts";
import type { Skill } from "./skills.ts";

/* What chats need of those who put them together with a store, a runtime and models. */

export interface ChatsOptions {
  store: ChatStore & BlobStore;
  runtime: Pick<Runtime, "start" | "state" | "subscribe" | "cancel" | "transcript">;
  /** What is known of a model. Throws where there is none of that name. */
  modelFacts: (name: string) => Promise<ModelFacts>;
  /** Undefined: there is no such agent. */
  agentFacts: (name: string) => AgentFacts | undefined;
  /**
   * What settings name that is not there, as a path and what is wrong; undefined: nothing. Of those that are not given
   * nothing is said.
   */
  checkNames?: (settings: ChatSettings) => Promise<string | undefined>;
  /** Throws what the start of such a task would fail with, so that nothing is written before it is known. */
  checkRequest: (request: AgentRequest) => Promise<void>;
  /** The model itself, for titles and for masking. */
  model: (name: string) => Model;
  price?: (model: string) => Price | undefined;
  defaults: ChatDefaults;
  /** Who answers in a chat that names nobody; neither: nobody can. It may change while models become known. */
  defaultResponder?: () => Promise<Pick<ChatSettings, "agent" | "model">>;
  skills?: readonly Skill[];
  now?: () => number;
  newId?: (prefix: string) => string;
  onFailure?: (message: string, cause: unknown) => void;
}

export interface ModelFacts {
  readonly abilities: ModelAbilities;
  readonly options: ModelOptions;
}

export interface AgentFacts {
  readonly model: string;
  readonly options: ModelOptions;
  /** Its own, whatever the chat has. */
  readonly toolGroups?: readonly string[];
}

/** What a chat uses that says nothing else. */
export interface ChatDefaults {
  readonly settings: Pick<
    ChatSettings,
    "instructions" | "tool_groups" | "options" | "privacy" | "title_model"
  >;
  readonly limits: Limits;
  /** How long a model that cannot be asked is asked again; undefined: as the runtime is configured. */
  readonly retrySeconds?: number | undefined;
  /** When a person is asked before the model gets a tool's result. Default `never`. */
  readonly results?: ResultPolicy;
  readonly turns: number;
  readonly timeZone: string;
  /** Whether every message tells its own time. */
  readonly exactTime: boolean;
  /** Whether models name chats. */
  readonly titles: boolean;
}

/** What came of a change. `before` is the chat as it was, whose nodes are the same objects where nothing changed. */
export interface Changed {
  readonly before: KeptChat;
  readonly after: KeptChat;
  /** Of what was added. */
  readonly node_id?: string;
  readonly version_id?: string;
  /** By which it can be undone. */
  readonly removal_ids?: readonly string[];
}

export interface ChangedByEdits extends Changed {
  /** By each of them, in order. */
  readonly added: readonly (Added | null)[];
}

/** A question that was sent: the answer is on its way. */
export interface Sent extends Changed {
  /** The answer. */
  readonly node_id: string;
  readonly version_id: string;
  readonly task_id: string;
}

/** Answers that were stopped, and what has become of their chat meanwhile. */
export interface Stopped {
  readonly answers: readonly RunningAnswer[];
  readonly since: ChatSince;
}
