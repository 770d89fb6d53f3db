import { createHash } from "node:crypto";
import type { BlobStore, Limits } from "@deltawire/tasks";
import type { ChatSettings, ChatStore, Placeholder, PrivacyField } from "@deltawire/tasks/chats";
import { modelNameOf, type Agent } from "../agent.ts";
import type { Cuts } from "../cuts.ts";
import type { Model, ModelAbilities } from "../model.ts";
import { maskedModel } from "../privacy/masked-model.ts";
import { maskedTool } from "../privacy/masked-tool.ts";
import { Vault } from "../privacy/vault.ts";
import type { ResultPolicy, Tool, ToolGroup } from "../tool.ts";
import type { Variables } from "../variables/variables.ts";
import { chatVariables } from "./chat-variables.ts";
import { heldElsewhere, RecentValues } from "./recent-values.ts";
import { skillsGroup, type Skill } from "./skills.ts";
import { variablesGroup } from "./variables-group.ts";

/** How many chats without a running answer are held in memory, and how many characters of private values. */
const mostVaults = 200;
const mostVaultCharacters = 16 * 1024 * 1024;

type Abilities = Pick<ModelAbilities, "type" | "tools">;

export interface ChatAgentsOptions {
  store: ChatStore & BlobStore;
  model: (name: string) => Model;
  abilities: (model: string) => Promise<Abilities>;
  skills: readonly Skill[];
  /** Of chats that say nothing of private values. */
  privacy: ChatSettings["privacy"];
  /** Of chats that say nothing else and have no agent with limits of its own. */
  limits: Limits;
  retrySeconds?: number | undefined;
  /** Of chats and agents that do not set it. */
  results: ResultPolicy;
  now: () => number;
}

/** Agents as they are inside a chat: private values masked, long values by name, skills at hand. */
export class ChatAgents {
  readonly #options: ChatAgentsOptions;
  /** What is dropped of it is read from the store again. */
  readonly #vaults = new RecentValues<Vault>({
    most: mostVaults,
    mostWeight: mostVaultCharacters,
    weigh: ({ characters }) => characters,
    isPinned: ({ hasFresh }) => hasFresh,
  });
  readonly #fields = new WeakMap<Vault, string>();
  readonly #loading = new Map<string, { fields: string; vault: Promise<Vault> }>();
  /** Agents that run hold theirs. */
  readonly #variables = new RecentValues<Variables>(heldElsewhere);
  /** Of chats whose values are masked. Each lives as long as its vault, which the agents that run hold. */
  readonly #cuts = new RecentValues<Cuts>(heldElsewhere);
  readonly #cutsOfVaults = new WeakMap<Vault, Cuts>();

  constructor(options: ChatAgentsOptions) {
    this.#options = options;
  }

  /** `isNamed`: it is one that the user has configured, whose limits a chat can only lower. */
  async dressed(
    agent: Agent,
    chatId: string,
    settings: ChatSettings,
    { isNamed }: { isNamed: boolean },
  ): Promise<Agent> {
    const vault = await this.vaultOf(chatId, settings);
    if (vault === undefined) this.#cuts.delete(chatId);
    else {
      const cuts = this.#cutsOfVaults.get(vault) ?? cutsOutside(vault, this.#keeperOf(chatId));
      this.#cutsOfVaults.set(vault, cuts);
      this.#cuts.set(chatId, cuts);
    }
    const abilities = await this.#options.abilities(modelNameOf(agent));
    const able = abilities.tools ? agent : { ...agent, tools: [], agents: [] };
    const groups = [
      ...(able.tools.length > 0 ? [variablesGroup(this.#variablesOf(chatId), vault)] : []),
      ...this.#skillsOf(settings, abilities),
    ];
    const { retrySeconds, results } = this.#options;
    const withResults = (one: Agent): Agent => ({
      ...one,
      results: settings.results ?? one.results ?? results,
    });
    const dress = withHelpers((one) => ({
      retrySeconds,
      ...this.#private(chatId, withResults(one), vault),
    }));
    const own = dress(able);
    return {
      ...own,
      tools: [...own.tools, ...groups],
      limits: isNamed ? own.limits : { ...own.limits, ...this.#options.limits, ...settings.limits },
    };
  }

  /**
   * The private values of a chat; undefined where nothing is masked. One for all tasks of a chat, so that a value has one
   * placeholder.
   */
  async vaultOf(chatId: string, settings: ChatSettings): Promise<Vault | undefined> {
    const privacy = this.privacyOf(settings);
    if (privacy?.enabled !== true || privacy.fields.length === 0) return undefined;
    const fields = JSON.stringify(privacy.fields);
    const loading = this.#loading.get(chatId);
    if (loading?.fields === fields) return loading.vault;
    const known = this.#vaults.get(chatId);
    if (known !== undefined && loading === undefined && this.#fields.get(known) === fields)
      return known;
    const vault = this.#load(chatId, privacy.fields, fields);
    this.#loading.set(chatId, { fields, vault });
    try {
      return await vault;
    } finally {
      if (this.#loading.get(chatId)?.vault === vault) this.#loading.delete(chatId);
    }
  }

  async #load(chatId: string, fields: readonly PrivacyField[], fieldsText: string): Promise<Vault> {
    const known = await this.#options.store.placeholders(chatId);
    const vault = new Vault({ fields, known, tag: tagOf(chatId) });
    this.#fields.set(vault, fieldsText);
    this.#vaults.set(chatId, vault);
    return vault;
  }

  /** As the gateway is configured, where a chat does not say otherwise. */
  privacyOf({ privacy }: ChatSettings): ChatSettings["privacy"] {
    return privacy ?? this.#options.privacy;
  }

  /** Of a chat that runs. Undefined: anywhere. */
  knownCuts(chatId: string): Cuts | undefined {
    return this.#cuts.get(chatId);
  }

  #variablesOf(chatId: string): Variables {
    const known = this.#variables.get(chatId);
    if (known !== undefined) return known;
    const { store, now } = this.#options;
    const made = chatVariables(store, chatId, () => new Date(now()).toISOString());
    this.#variables.set(chatId, made);
    return made;
  }

  knownVariables(chatId: string): Variables | undefined {
    return this.#variables.get(chatId);
  }

  /** A model that is told placeholders only. */
  masked(chatId: string, model: Model, vault: Vault | undefined): Model {
    if (vault === undefined) return model;
    return maskedModel(model, vault, this.#keeperOf(chatId));
  }

  #keeperOf(chatId: string): (fresh: readonly Placeholder[]) => Promise<void> {
    return async (fresh) => {
      // Keeps the vault in the cache until its new values are stored.
      this.#vaults.get(chatId);
      await this.#options.store.addPlaceholders(chatId, fresh);
    };
  }

  forget(chatId: string): void {
    this.#vaults.delete(chatId);
    this.#variables.delete(chatId);
    this.#cuts.delete(chatId);
  }

  #private(chatId: string, agent: Agent, vault: Vault | undefined): Agent {
    if (vault === undefined) return agent;
    const keep = this.#keeperOf(chatId);
    const model = typeof agent.model === "string" ? this.#options.model(agent.model) : agent.model;
    return {
      ...agent,
      model: { ...this.masked(chatId, model, vault), name: modelNameOf(agent) },
      tools: agent.tools.map((one) => withTools(one, (tool) => maskedTool(tool, vault, keep))),
    };
  }

  /** A model that cannot call is told only what it need not read. */
  #skillsOf({ skills }: ChatSettings, { type, tools }: Abilities): ToolGroup[] {
    if (type !== "chat") return [];
    const on = this.#options.skills.filter(
      ({ name, always }) => (skills?.includes(name) ?? true) && (always || tools),
    );
    const group = skillsGroup(on);
    return group === undefined ? [] : [group];
  }
}

function cutsOutside(vault: Vault, keep: (fresh: readonly Placeholder[]) => Promise<void>): Cuts {
  return {
    cutBefore: (text, at) => vault.cutBefore(text, at),
    stored: () => vault.keepFresh(keep),
  };
}

/** Changes an agent and all whom it may ask, who may ask it in turn. */
function withHelpers(change: (agent: Agent) => Agent): (agent: Agent) => Agent {
  const changed = new Map<Agent, Agent & { agents: Agent[] }>();
  const dress = (agent: Agent): Agent => {
    const known = changed.get(agent);
    if (known !== undefined) return known;
    const made = { ...change(agent), agents: [] as Agent[] };
    changed.set(agent, made);
    made.agents.push(...agent.agents.map(dress));
    return made;
  };
  return dress;
}

function withTools(one: Tool | ToolGroup, change: (tool: Tool) => Tool): Tool | ToolGroup {
  if (!("tools" in one)) return change(one);
  const { name, description, rules, tools } = one;
  return { name, description, rules, tools: tools.map(change) };
}

/** Makes the placeholders of a chat unlike anything that somebody would write, and is the same after a restart. */
function tagOf(chatId: string): string {
  return createHash("sha256").update(chatId).digest("hex").slice(0, 4);
}
