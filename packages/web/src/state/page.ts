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
  PersonEdit,
} from "@deltawire/tasks/chats";
import type { Cell } from "../cell.ts";
import type { Commands } from "./commands.ts";
import type { NewChatSettings, Preferences, PreferencesCell } from "./preferences.ts";
import type { Router } from "../browser/route.ts";
import type { Toasts } from "./toasts.ts";
import type { Written } from "./written-decisions.ts";

/*
 * Everything that the page knows and can do, outside React. Components get it by `usePage`, draw cells and call functions.
 * What a function cannot do it tells in a toast and answers with false or undefined, unless it says otherwise.
 */
export interface Page {
  readonly client: ChatClient;
  readonly session: Session;
  readonly connection: Cell<Connection>;
  readonly list: ChatList;
  readonly choices: Cell<ChatChoices | undefined>;
  /** Asks what there is to choose from, now. */
  readChoices(): Promise<void>;
  readonly approvals: Approvals;
  readonly preferences: PreferencesCell;
  readonly router: Router;
  readonly commands: Commands;
  readonly toasts: Toasts;
  /** The same object for the same chat for as long as it is shown somewhere; `release` when it no longer is. */
  openChat(chatId: string): OpenChat;
  /** Makes one with these settings and goes to it. Answers with its id. */
  newChat(settings?: ChatSettings): Promise<string | undefined>;
  /** Makes one and stays where it is. Answers with its id. `onUnreachable`: in place of a toast. */
  createChat(settings: ChatSettings, onUnreachable?: () => void): Promise<string | undefined>;
  /** All chats of a file, or none of them. Throws a ChatApiError where the gateway refuses it. */
  importFrom(file: unknown): Promise<ImportReply>;
  readonly newChatSettings: NewChatSettings;
  /** The draft of a chat; "" is that of a chat that is not made yet. */
  draft(chatId: string): Draft;
  /** A file as a blob, to be put into a draft. */
  upload(file: File): Promise<Attachment | undefined>;
  /** What a task that is followed has come to, with its sub-agents; undefined before it is known. */
  taskTree(taskId: string): Cell<TaskTree | undefined>;
  /** What runs tell on their way and nobody keeps, by `callProgressKey` of a call, or `modelProgressKey` of a task. */
  progress(taskId: string): Cell<Readonly<Record<string, Progress>>>;
  /** The chats that are shown and whose model failed and will be asked again. */
  readonly retrying: Cell<ReadonlySet<string>>;
  /** Tries now to get a lost connection back, instead of when it is time. */
  reconnect(): void;
  /** Asks the gateway for what the client does not know of. Rejects where it cannot be reached. */
  ask(path: string, request?: RequestInit): Promise<Response>;
  /** Tells by a toast what an action could not do; answers with what it gave. */
  attempt<Result>(action: () => Promise<Result>): Promise<Result | undefined>;
  close(): void;
}

export interface Progress {
  readonly message: string;
  readonly fraction?: number | undefined;
  /** It is being tried again, and the message says why; `failed`: how many tries have, where that is known. */
  readonly again?: { readonly failed: number | undefined } | undefined;
}

export type SessionState =
  | { readonly is: "checking" }
  | { readonly is: "unreachable" }
  | { readonly is: "needs token" }
  /** `withToken`: there is something to sign out of. */
  | { readonly is: "open"; readonly version: string; readonly withToken: boolean };

export type SignInProblem =
  | { readonly is: "wrong token" }
  /** From this address; the next one is looked at after so many seconds. */
  | { readonly is: "too many tries"; readonly seconds: number }
  | { readonly is: "unreachable" }
  /** In the server's words. */
  | { readonly is: "other"; readonly message: string };

export interface Session {
  readonly state: Cell<SessionState>;
  /** Answers with what is wrong. */
  signIn(token: string): Promise<SignInProblem | undefined>;
  signOut(): Promise<void>;
  check(): Promise<void>;
}

export type Connection =
  | { readonly is: "connecting" }
  /** `again`: for the first seconds after it was lost. */
  | { readonly is: "live"; readonly again?: true }
  /** `retryAt`: in ms since 1970, when it is tried again by itself. */
  | {
      readonly is: "lost";
      readonly reason: string;
      readonly retryAt: number | undefined;
      /** The gateway answers, but cannot open its store. */
      readonly store?: StoreTrouble;
    }
  /** The browser says so. */
  | { readonly is: "offline" }
  /** A newer gateway answers than the one that this page is of. */
  | { readonly is: "outdated" };

export interface StoreTrouble {
  /** The gateway's words. */
  readonly message: string;
  /** By another gateway on the same data. */
  readonly isInUse: boolean;
}

export interface ChatList {
  readonly state: Cell<ListState>;
  loadMore(): Promise<boolean>;
  readAnew(): Promise<void>;
  rename(chatId: string, title: string): Promise<boolean>;
  pin(chatId: string, value: boolean): Promise<boolean>;
  tag(chatId: string, tags: readonly string[]): Promise<boolean>;
  /** With a toast that undoes it. */
  remove(chatId: string): Promise<boolean>;
  restore(chatId: string): Promise<boolean>;
}

export type ListState =
  | { readonly is: "loading" }
  | { readonly is: "failed"; readonly message: string }
  /** Pinned ones first, then the last changed first. */
  | { readonly is: "ready"; readonly chats: readonly ChatSummary[]; readonly hasMore: boolean };

export type OpenChatState =
  | { readonly is: "loading" }
  | { readonly is: "missing" }
  | { readonly is: "failed"; readonly message: string }
  | {
      readonly is: "ready";
      readonly chat: Chat;
      readonly stamp: number;
      readonly usage: Usage;
      readonly deletedAt: string | undefined;
    };

/** Answers of the chat that run are followed by themselves: `page.taskTree(version.task_id)`. */
export interface OpenChat {
  readonly chatId: string;
  readonly state: Cell<OpenChatState>;
  readAnew(): Promise<void>;
  /**
   * Under the last node that is shown; clears the draft once the gateway has it. Where it cannot be reached, the draft tells
   * it, and no toast: `unreached`. So it is with `tell`.
   */
  send(draft: DraftState, parent: string | null): Promise<boolean>;
  rerun(nodeId: string, choice?: AnswerChoiceBody): Promise<boolean>;
  continueAnswer(nodeId: string): Promise<boolean>;
  /** Made once, however often it is tried. */
  editMessage(nodeId: string, edit: MessageEdit, how: EditHow): Promise<boolean>;
  editAnswer(nodeId: string, text: string): Promise<boolean>;
  stop(nodeId?: string): Promise<boolean>;
  /** At the chat's revision; after a conflict once more on what the chat has become. */
  change(...edits: PersonEdit[]): Promise<boolean>;
  /** With a toast that undoes it. */
  deleteNode(nodeId: string, children: "delete" | "keep"): Promise<boolean>;
  deleteVersion(nodeId: string, versionId: string): Promise<boolean>;
  /** Makes a chat of a part of this one and goes to it. */
  extract(nodeId: string): Promise<string | undefined>;
  tell(taskId: string, word: Word): Promise<boolean>;
  cancelTask(taskId: string): Promise<boolean>;
  /** It is shown one time less. */
  release(): void;
}

/** What is told to an answer that runs; once, however often it is tried with the same key. */
export interface Word {
  readonly text: string;
  readonly delivery: InputDelivery;
  readonly key: string;
}

export interface EditHow {
  readonly as: "version" | "branch";
  /** Whether the model is asked again. */
  readonly send: boolean;
}

export interface Approvals {
  /** Of all chats and tasks, the oldest first; live. */
  readonly pending: Cell<readonly PendingApproval[]>;
  /** Throws a ChatApiError where the gateway refuses it. One that was decided elsewhere is no error: a toast tells what. */
  decide(approvalId: string, body: DecisionBody): Promise<void>;
  /** Those that are on their way to the gateway. */
  readonly deciding: Cell<ReadonlySet<string>>;
  /** What was begun to be written for them, by approval. Kept in the browser until they are decided or gone. */
  readonly written: Cell<ReadonlyMap<string, Written>>;
  /** Undefined: it is left. */
  write(approvalId: string, written: Written | undefined): void;
}

export interface DraftState {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  readonly contexts: readonly ContextSnippet[];
  readonly options?: ModelOptions | undefined;
  /** What was typed into editors of the chat, by node. */
  readonly edits?: Readonly<Record<string, MessageEdit>> | undefined;
  /** For an answer that is asked for twice because a reply was lost. */
  readonly key: string;
}

export interface EditWords {
  readonly text: string;
  /** Undefined: those that the message has. */
  readonly attachments?: readonly Attachment[] | undefined;
}

export interface MessageEdit extends EditWords {
  /** As that of a draft. */
  readonly key: string;
}

/** One that has failed is not sent, and can be sent again. */
export type SentEdit = "on its way" | "arrived";

/** Kept in the browser: a reload loses no word. */
export interface Draft extends Cell<DraftState> {
  change(patch: Partial<Omit<DraftState, "key" | "edits">>): void;
  /** It was sent: all of it goes, in every tab, but what was typed into editors. */
  clear(): void;
  /** Its words were told to an answer that runs: they go, in every tab; what is attached stays in this one. */
  told(words: Pick<DraftState, "text" | "key">): void;
  /** Undefined: the editor of this node is closed. */
  edit(nodeId: string, edit: EditWords | undefined): void;
  /** It is on its way: nobody writes in it meanwhile, wherever it is shown. */
  readonly isSending: Cell<boolean>;
  whileSending<Result>(action: () => Promise<Result>): Promise<Result>;
  /** The key of what was to be sent while the gateway could not be reached. Other words have another, and it is over. */
  readonly unreached: Cell<string | undefined>;
  setUnreached(key: string): void;
  /** What became of edits that were sent, by node, until their editors are closed: also for one that comes up later. */
  readonly sentEdits: Cell<ReadonlyMap<string, SentEdit>>;
  /** Keeps an edit until `send` says that it has arrived. Nothing is done for a node of which one is on its way. */
  sendEdit(
    nodeId: string,
    edit: EditWords,
    send: (edit: MessageEdit) => Promise<boolean>,
  ): Promise<void>;
  /** The editor of a node that has arrived is closed. */
  editClosed(nodeId: string): void;
}

export type { Preferences };
