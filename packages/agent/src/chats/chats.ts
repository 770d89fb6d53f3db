import { randomBytes } from "node:crypto";
import {
  checkTags,
  checkTitle,
  newChat,
  runningAnswers,
  settingsAfter,
  summaryOf,
} from "@deltawire/tasks/chats";
import type {
  Chat,
  ChatChange,
  ChatSettings,
  ChatSince,
  ChatToCreate,
  EditWorld,
  KeptChat,
  PersonEdit,
} from "@deltawire/tasks/chats";
import type { Agent } from "../agent.ts";
import type { Cuts } from "../cuts.ts";
import { messageOf } from "../event-text.ts";
import { RuntimeError } from "../runtime-error.ts";
import type { AgentRequest } from "../task-request.ts";
import type { Variables } from "../variables/variables.ts";
import { ChatAgents } from "./chat-agent.ts";
import { ChatError } from "./chat-error.ts";
import {
  exportedChat,
  extractedChat,
  readChats,
  type Exported,
  type ExportFormat,
} from "./chat-files.ts";
import { ChatNames } from "./chat-names.ts";
import type { Changed, ChangedByEdits, ChatsOptions, Sent, Stopped } from "./chat-ports.ts";
import { ChatRecords } from "./chat-records.ts";
import { changedSettings, mustBeKnown, mustBeSettings } from "./check-chat-settings.ts";
import { Lifecycle } from "./lifecycle.ts";
import type { ModelAbilities } from "../model.ts";
import type { Asking } from "./ask-question.ts";
import { Sending, type EditRequest, type SendRequest } from "./sending.ts";

/** Before a chat is deleted: what was on its way when that began comes up a moment later. */
const mostStops = 5;

/** Conversations: kept as trees, sent to models, answered by tasks. */
export class Chats {
  readonly #options: Required<ChatsOptions>;
  readonly #records: ChatRecords;
  readonly #lifecycle: Lifecycle;
  readonly #agents: ChatAgents;
  readonly #sending: Sending;
  readonly #names: ChatNames;

  constructor(options: ChatsOptions) {
    const full = {
      price: () => undefined,
      checkNames: async () => undefined,
      defaultResponder: async () => ({}),
      skills: [],
      now: Date.now,
      newId: (prefix: string) => `${prefix}_${randomBytes(12).toString("hex")}`,
      onFailure: () => undefined,
      ...options,
    };
    this.#options = full;
    const { store, runtime, model, skills, now, newId, onFailure } = full;
    const { limits, results = "never", settings, retrySeconds } = full.defaults;
    const world: EditWorld = { newId, now: () => new Date(now()).toISOString() };
    this.#records = new ChatRecords(store, world, onFailure);
    this.#agents = new ChatAgents({
      store,
      model,
      abilities: (name) => this.#abilitiesOf(name),
      skills,
      privacy: settings.privacy,
      limits,
      retrySeconds,
      results,
      now,
    });
    this.#names = new ChatNames(this.#records, { options: full, agents: this.#agents });
    this.#lifecycle = new Lifecycle(this.#records, {
      runtime,
      onFailure,
      onFinished: (chatId) => this.#names.begin(chatId),
    });
    this.#sending = new Sending({
      options: full,
      records: this.#records,
      lifecycle: this.#lifecycle,
      agents: this.#agents,
    });
  }

  /** `promised`: the id that it gets; the one that has it already is what was asked for before. The same for the two below. */
  async create(
    given: { title?: string; settings?: ChatSettings; tags?: readonly string[] } = {},
    promised?: string,
  ): Promise<KeptChat> {
    const [before] = await this.#madeBefore(promised);
    if (before !== undefined) return before;
    const { settings = {} } = given;
    mustBeSettings(settings);
    const [problem] = [
      ...(given.title === undefined ? [] : checkTitle(given.title)),
      ...checkTags(given.tags ?? []),
    ];
    if (problem !== undefined) throw new ChatError("bad_value", problem);
    await mustBeKnown(settings, "settings", this.#options);
    const chat = newChat({ ...given, settings }, this.#worldOf(promised));
    return this.#created({ chat });
  }

  /** With all that answers which run have said so far. Undefined: there is none. */
  async open(chatId: string): Promise<KeptChat | undefined> {
    const kept = await this.#options.store.chat(chatId);
    return kept && this.#lifecycle.live(kept);
  }

  /** The same as what has changed since it was at a stamp. Undefined: that cannot be told, or there is no such chat. */
  async openSince(chatId: string, stamp: number): Promise<ChatSince | undefined> {
    const since = await this.#options.store.chatSince(chatId, stamp);
    return since && this.#lifecycle.liveSince(since);
  }

  async edit(
    chatId: string,
    edits: readonly PersonEdit[],
    revision?: number,
  ): Promise<ChangedByEdits> {
    // A title in the making is made with what was masked when it began.
    if (edits.some(changesMask)) await this.#names.stop(chatId);
    const checked = async ({ chat }: KeptChat): Promise<readonly PersonEdit[]> => {
      await this.#checkSettings(chat, edits);
      return edits;
    };
    return this.#live(this.#records.edit(chatId, checked, { revision }));
  }

  /** Puts back what a delete took. */
  async undo(chatId: string, removalId: string): Promise<Changed> {
    const removal = await this.#options.store.removal(chatId, removalId);
    if (removal === undefined)
      throw new ChatError("unknown_removal", `there is nothing to undo by "${removalId}"`);
    const edits = [{ type: "restore", removal } as const];
    return this.#live(this.#records.edit(chatId, edits, { restored: removalId }));
  }

  send(chatId: string, request: SendRequest): Promise<Sent> {
    return this.#live(this.#sending.send(chatId, request));
  }

  rerun(chatId: string, request: Asking & { readonly node_id: string }): Promise<Sent> {
    return this.#live(this.#sending.rerun(chatId, request));
  }

  editMessage(chatId: string, request: EditRequest): Promise<Sent | Changed> {
    return this.#live(this.#sending.edit(chatId, request));
  }

  continueAnswer(chatId: string, request: Asking & { readonly node_id: string }): Promise<Sent> {
    return this.#live(this.#sending.continueAnswer(chatId, request));
  }

  async stop(chatId: string, which?: { node_id?: string }): Promise<Stopped> {
    const { stamp } = await this.#records.open(chatId, { deleted: true });
    const answers = await this.#sending.stop(chatId, which);
    const since = await this.openSince(chatId, stamp);
    if (since !== undefined) return { answers, since };
    throw new ChatError("unknown_chat", "the chat was removed meanwhile");
  }

  /** A part of a chat as a chat of its own; the old one stays as it is. */
  async extract(chatId: string, nodeId: string, promised?: string): Promise<KeptChat> {
    const [before] = await this.#madeBefore(promised);
    if (before !== undefined) return before;
    const { chat } = await this.#records.open(chatId);
    const world = this.#worldOf(promised);
    return this.#created(await extractedChat(chat, nodeId, this.#options.store, world));
  }

  /** Until it is restored, or for good. What runs in it is stopped. */
  async remove(chatId: string, { forever = false } = {}): Promise<void> {
    const { store, now } = this.#options;
    const { deleted_at } = await this.#records.open(chatId, { deleted: true });
    // First of all: from here on nothing new begins in it.
    if (deleted_at === undefined) await store.setDeleted(chatId, new Date(now()).toISOString());
    for (let tries = 0; tries < mostStops; tries += 1)
      if ((await this.#sending.stop(chatId)).length === 0) break;
    if (forever) {
      await store.removeChat(chatId);
      this.#agents.forget(chatId);
      const { head } = await store.chatStamps();
      return this.#records.tell({ type: "chat.removed", stamp: head, chat_id: chatId });
    }
    await this.#tell(chatId);
  }

  async restore(chatId: string): Promise<KeptChat> {
    await this.#options.store.setDeleted(chatId, null);
    return this.#tell(chatId);
  }

  async exportAs(chatId: string, format: ExportFormat): Promise<Exported> {
    const { chat } = await this.#lifecycle.live(await this.#records.open(chatId));
    return exportedChat(chat, format, this.#options.store, this.#records.world);
  }

  /** All chats of a file, or none of them. */
  async importFrom(value: unknown, promised?: string): Promise<KeptChat[]> {
    const before = await this.#madeBefore(promised);
    if (before.length > 0) return before;
    const { store } = this.#options;
    const chats = await readChats(value, store, this.#worldOf(promised));
    await store.createChats(chats);
    const made: KeptChat[] = [];
    for (const { chat } of chats) made.push(await this.#tell(chat.chat_id));
    return made;
  }

  /** Told of every change, by whomever it was made. The answer ends it. */
  subscribe(listener: (change: ChatChange) => void): () => void {
    return this.#records.subscribe(listener);
  }

  /** An agent as the task of a chat has it. Fails where it is not known what would have to be masked. */
  async dressed(agent: Agent, request: AgentRequest): Promise<Agent> {
    const { chat_id } = request;
    if (chat_id === undefined) return agent;
    const kept = await this.#options.store.chat(chat_id);
    if (kept === undefined)
      throw new RuntimeError("invalid_agent", "the chat of this task is gone");
    const isNamed = request.agent !== undefined;
    return this.#agents.dressed(agent, chat_id, kept.chat.settings, { isNamed });
  }

  /** Of a session that is a chat whose agent has tools. */
  variablesOf(sessionId: string): Variables | undefined {
    return this.#agents.knownVariables(sessionId);
  }

  /** Where texts of a chat may be cut whose private values are masked. */
  cutsOf(chatId: string): Cuts | undefined {
    return this.#agents.knownCuts(chatId);
  }

  /** Takes up what an earlier process left: before tasks are taken up, so that nothing of them is missed. */
  async recover(): Promise<void> {
    await this.#lifecycle.recover(await this.#options.store.runningAnswers());
  }

  async close(): Promise<void> {
    const named = this.#names.close();
    await this.#lifecycle.close();
    await named;
  }

  #worldOf(promised: string | undefined): EditWorld {
    const { world } = this.#records;
    return promised === undefined ? world : promisingWorld(world, promised);
  }

  async #madeBefore(promised: string | undefined): Promise<KeptChat[]> {
    const made: KeptChat[] = [];
    if (promised === undefined) return made;
    for (const chatId of promisedIds(promised)) {
      const kept = await this.open(chatId);
      if (kept === undefined) break;
      made.push(kept);
    }
    return made;
  }

  async #created(made: ChatToCreate): Promise<KeptChat> {
    await this.#options.store.createChats([made]);
    return this.#tell(made.chat.chat_id);
  }

  /** Everybody hears of a chat that was made, deleted or restored. */
  async #tell(chatId: string): Promise<KeptChat> {
    const kept = await this.#records.open(chatId, { deleted: true });
    this.#records.tell({ type: "chat.changed", stamp: kept.stamp, chat: summaryOf(kept) });
    return kept;
  }

  /** What is masked cannot change under an answer that has begun with it. What was there before may be gone by now. */
  async #checkSettings(chat: Chat, edits: readonly PersonEdit[]): Promise<void> {
    let { settings } = chat;
    for (const [index, edit] of edits.entries()) {
      if (edit.type !== "settings") continue;
      const path = `edits[${index}].patch`;
      const after = settingsAfter(settings, edit.patch);
      mustBeSettings(after, path);
      if (changesMask(edit) && runningAnswers(chat).length > 0)
        throw new ChatError(
          "still_running",
          "an answer is still running: stop it before you change what is masked",
        );
      await mustBeKnown(changedSettings(settings, after), path, this.#options);
      settings = after;
    }
    if (edits.some(changesMask) && this.#names.isNaming(chat.chat_id))
      throw new ChatError(
        "still_running",
        "the chat is just being named: change what is masked in a moment",
      );
  }

  /** Whoever shows what has changed shows running answers as far as they have come. */
  async #live<Made extends Changed>(changing: Promise<Made>): Promise<Made> {
    const changed = await changing;
    const after = await this.#lifecycle.live(changed.after);
    // What was sent before has changed nothing.
    return { ...changed, after, before: changed.before === changed.after ? after : changed.before };
  }

  /** Of a model that is not known any more nothing is left out: whoever asks it hears of that. */
  async #abilitiesOf(model: string): Promise<Pick<ModelAbilities, "type" | "tools">> {
    try {
      return (await this.#options.modelFacts(model)).abilities;
    } catch (error) {
      this.#options.onFailure(`what ${model} can do is not known: ${messageOf(error)}`, error);
      return { type: "chat", tools: true };
    }
  }
}

function changesMask(edit: PersonEdit): boolean {
  return edit.type === "settings" && "privacy" in edit.patch;
}

/** The ids of chats that are made under a promise: whoever asks for them again finds them by these. */
function* promisedIds(first: string): Generator<string, never> {
  yield first;
  for (let number = 2; ; number += 1) yield `${first}_${number}`;
}

/** Makes chats of the promised ids, in their order; everything else has an id of its own. */
function promisingWorld(world: EditWorld, first: string): EditWorld {
  const ids = promisedIds(first);
  return {
    ...world,
    newId: (prefix) => (prefix === "chat" ? ids.next().value : world.newId(prefix)),
  };
}
