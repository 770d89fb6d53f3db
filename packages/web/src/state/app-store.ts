import type { TaskTree, Usage } from "@deltawire/tasks";
import type {
  AnswerChoiceBody,
  Attachment,
  Chat,
  ChatChoices,
  ChatClient,
  ChatSettings,
  ChatSummary,
  ContextSnippet,
  DecisionBody,
  ImportReply,
  InputDelivery,
  ModelOptions,
  PendingApproval,
  UserEdit,
} from "@deltawire/tasks/chats";
import type { Cell } from "../cell.ts";
import type { CommandRegistry } from "./command-registry.ts";
import type { NewChatSettingsCell, Preferences, PreferencesCell } from "./preferences.ts";
import type { Router } from "../browser/hash-router.ts";
import type { ToastStore } from "./toast-store.ts";
import type { DecisionDraft } from "./decision-drafts.ts";

/*
 * The state and the actions of the page, outside React. Components get the store from `useAppStore`, render its cells and call
 * its functions. A function that fails shows a toast and resolves to false or undefined, unless its comment says otherwise.
 */
export interface AppStore {
  readonly client: ChatClient;
  readonly session: Session;
  readonly connection: Cell<GatewayConnectionState>;
  readonly chatList: ChatListStore;
  readonly choices: Cell<ChatChoices | undefined>;
  /** Reloads `choices`. */
  reloadChoices(): Promise<void>;
  readonly approvals: ApprovalStore;
  readonly preferences: PreferencesCell;
  readonly router: Router;
  readonly commands: CommandRegistry;
  readonly toasts: ToastStore;
  /** Returns the same object for a chat until every caller has called its `release`. */
  openChat(chatId: string): OpenChat;
  /** Creates a chat and opens it. Resolves to its id. */
  createAndOpenChat(settings?: ChatSettings): Promise<string | undefined>;
  /**
   * Creates a chat without opening it. Resolves to its id. If the gateway cannot be reached, calls `onUnreachable`, if given,
   * instead of showing a toast.
   */
  createChat(settings: ChatSettings, onUnreachable?: () => void): Promise<string | undefined>;
  /** Imports all chats in a file, or none. Throws a ChatApiError if the gateway rejects the file. */
  importChats(file: unknown): Promise<ImportReply>;
  readonly newChatSettings: NewChatSettingsCell;
  /** Returns the draft of a chat; "" is the draft of a new chat. */
  getDraft(chatId: string): ChatDraft;
  /** Uploads a file as an attachment for a draft. */
  upload(file: File): Promise<Attachment | undefined>;
  /** The live state of a followed task and its sub-agents; undefined until it is loaded. */
  taskTree(taskId: string): Cell<TaskTree | undefined>;
  /** Progress of running calls and models by `callProgressKey` or `modelProgressKey`. It is not part of the stored task. */
  progress(taskId: string): Cell<Readonly<Record<string, ProgressState>>>;
  /** Ids of open chats whose model call failed and will be retried. */
  readonly retryingChatIds: Cell<ReadonlySet<string>>;
  /** Retries a lost connection now. */
  reconnect(): void;
  /** Sends a request that `client` has no method for. Rejects if the gateway cannot be reached. */
  request(path: string, request?: RequestInit): Promise<Response>;
  /** Runs an action. If it fails, shows a toast and resolves to undefined. */
  attempt<Result>(action: () => Promise<Result>): Promise<Result | undefined>;
  close(): void;
}

export interface ProgressState {
  readonly message: string;
  readonly fraction?: number | undefined;
  /** Set while a model call is retried. `message` is then the cause. */
  readonly retry?: { readonly failedAttempts: number | undefined } | undefined;
}

export type SessionState =
  | { readonly status: "checking" }
  | { readonly status: "unreachable" }
  | { readonly status: "needs_token" }
  /** `hasToken`: true if the gateway requires a token, so that the user can sign out. */
  | { readonly status: "open"; readonly version: string; readonly hasToken: boolean };

export type SignInProblem =
  | { readonly type: "wrong_token" }
  /** Too many attempts from this address. `seconds`: time until the next attempt is allowed. */
  | { readonly type: "too_many_attempts"; readonly seconds: number }
  | { readonly type: "unreachable" }
  /** `message` is the server's error message. */
  | { readonly type: "other"; readonly message: string };

export interface Session {
  readonly state: Cell<SessionState>;
  /** Resolves to undefined after signing in, or to the problem if it failed. */
  signIn(token: string): Promise<SignInProblem | undefined>;
  signOut(): Promise<void>;
  check(): Promise<void>;
}

export type GatewayConnectionState =
  | { readonly status: "connecting" }
  /** `isReconnected`: true for a few seconds after a lost connection was restored. */
  | { readonly status: "live"; readonly isReconnected?: true }
  /** `retryAt`: time of the next automatic attempt, in ms since the epoch. */
  | {
      readonly status: "lost";
      readonly reason: string;
      readonly retryAt: number | undefined;
      /** Set if the gateway answers, but its store is not available. */
      readonly storeProblem?: StoreProblem;
    }
  /** The browser is offline. */
  | { readonly status: "offline" }
  /** The version of the gateway differs from that of this page. */
  | { readonly status: "outdated" };

export interface StoreProblem {
  /** The gateway's error message. */
  readonly message: string;
  /** True if another gateway uses the same store. */
  readonly isInUse: boolean;
}

export interface ChatListStore {
  readonly state: Cell<ChatListState>;
  loadMore(): Promise<boolean>;
  reload(): Promise<void>;
  rename(chatId: string, title: string): Promise<boolean>;
  pin(chatId: string, value: boolean): Promise<boolean>;
  tag(chatId: string, tags: readonly string[]): Promise<boolean>;
  /** Shows a toast with an undo button. */
  remove(chatId: string): Promise<boolean>;
  restore(chatId: string): Promise<boolean>;
}

export type ChatListState =
  | { readonly status: "loading" }
  | { readonly status: "failed"; readonly message: string }
  /** Pinned chats first, then the most recently changed ones. */
  | { readonly status: "ready"; readonly chats: readonly ChatSummary[]; readonly hasMore: boolean };

export type OpenChatState =
  | { readonly status: "loading" }
  | { readonly status: "missing" }
  | { readonly status: "failed"; readonly message: string }
  | {
      readonly status: "ready";
      readonly chat: Chat;
      readonly stamp: number;
      readonly usage: Usage;
      readonly deletedAt: string | undefined;
    };

/** An open chat. Its running answers are followed automatically: see `taskTree(version.task_id)` of the store. */
export interface OpenChat {
  readonly chatId: string;
  readonly state: Cell<OpenChatState>;
  reload(): Promise<void>;
  /**
   * Sends a draft as a message under `parent`, and clears the draft once the gateway has the message. If the gateway cannot be
   * reached, sets the draft's `unreachableKey` instead of showing a toast; `sendInput` does the same.
   */
  send(draft: DraftState, parent: string | null): Promise<boolean>;
  rerun(nodeId: string, choice?: AnswerChoiceBody): Promise<boolean>;
  continueAnswer(nodeId: string): Promise<boolean>;
  /** Idempotent by `edit.key`. */
  editMessage(nodeId: string, edit: MessageEdit, mode: EditMode): Promise<boolean>;
  editAnswer(nodeId: string, text: string): Promise<boolean>;
  stop(nodeId?: string): Promise<boolean>;
  /** Applies edits at the chat's revision. After a conflict, edits that can be rebased are repeated. */
  change(...edits: UserEdit[]): Promise<boolean>;
  /** Shows a toast with an undo button. */
  deleteNode(nodeId: string, children: "delete" | "keep"): Promise<boolean>;
  deleteVersion(nodeId: string, versionId: string): Promise<boolean>;
  /** Creates a chat from the branch up to this node and opens it. */
  extract(nodeId: string): Promise<string | undefined>;
  sendInput(taskId: string, input: AnswerInput): Promise<boolean>;
  cancelTask(taskId: string): Promise<boolean>;
  /** Must be called once for every call of `openChat`. */
  release(): void;
}

/** A message to a running answer. Sending it is idempotent by `key`. */
export interface AnswerInput {
  readonly text: string;
  readonly delivery: InputDelivery;
  readonly key: string;
}

export interface EditMode {
  readonly as: "version" | "branch";
  /** If true, the model answers the edited message. */
  readonly send: boolean;
}

export interface ApprovalStore {
  /** Pending approvals of all chats and tasks, oldest first. */
  readonly pending: Cell<readonly PendingApproval[]>;
  /** Throws a ChatApiError if the gateway rejects the decision. If the approval has already been decided, shows a toast instead. */
  decide(approvalId: string, body: DecisionBody): Promise<void>;
  /** Ids of approvals whose decision is being sent. */
  readonly deciding: Cell<ReadonlySet<string>>;
  /** Unsent form inputs by approval id. Stored in the browser while the approval is pending. */
  readonly decisionDrafts: Cell<ReadonlyMap<string, DecisionDraft>>;
  /** Undefined discards the draft. */
  setDecisionDraft(approvalId: string, draft: DecisionDraft | undefined): void;
}

export interface DraftState {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly contexts: readonly ContextSnippet[];
  readonly options?: ModelOptions | undefined;
  /** Texts of open message editors, by node id. */
  readonly edits?: Readonly<Record<string, MessageEdit>> | undefined;
  /** Idempotency key for sending the draft. */
  readonly key: string;
}

export interface EditContent {
  readonly text: string;
  /** Undefined keeps the attachments of the message. */
  readonly attachments?: readonly Attachment[] | undefined;
}

export interface MessageEdit extends EditContent {
  /** Idempotency key for sending the edit. */
  readonly key: string;
}

/** State of an edit that was sent. After a failure there is none, and the edit can be sent again. */
export type EditDelivery = "sending" | "delivered";

/** A draft, stored in the browser so that it survives a reload. */
export interface ChatDraft extends Cell<DraftState> {
  change(patch: Partial<Omit<DraftState, "key" | "edits">>): void;
  /** Empties the draft in every tab after it was sent. Texts of message editors stay. */
  clear(): void;
  /** Removes text that was sent to a running answer. Empties the same draft in other tabs; in this tab attachments stay. */
  clearSentText(sentDraft: Pick<DraftState, "text" | "key">): void;
  /** Stores the text of a message editor. Undefined: the editor was closed. */
  edit(nodeId: string, edit: EditContent | undefined): void;
  /** True while the draft is being sent. It cannot be changed meanwhile. */
  readonly isSending: Cell<boolean>;
  whileSending<Result>(action: () => Promise<Result>): Promise<Result>;
  /** Key of the draft that could not be sent because the gateway was unreachable. Ignored if the draft has another key now. */
  readonly unreachableKey: Cell<string | undefined>;
  setUnreachable(key: string): void;
  /** Deliveries of edits by node id, until their editors are closed. They outlive unmounted editors. */
  readonly editDeliveries: Cell<ReadonlyMap<string, EditDelivery>>;
  /** Stores an edit until `send` resolves to true. Does nothing while an edit of the same node is being sent. */
  sendEdit(
    nodeId: string,
    edit: EditContent,
    send: (edit: MessageEdit) => Promise<boolean>,
  ): Promise<void>;
  /** Removes the delivery of a delivered edit. Call this when its editor is closed. */
  closeEdit(nodeId: string): void;
}

export type { Preferences };
