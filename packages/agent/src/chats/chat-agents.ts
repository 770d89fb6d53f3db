import { createHash } from "node:crypto";
import type { BlobStore, TaskLimits } from "@deltawire/tasks";
import type { ChatSettings, ChatStore, PrivacyField } from "@deltawire/tasks/chats";
import { getModelName, type Agent } from "../agent.ts";
import type { TruncationGuard } from "../truncate.ts";
import type { Model, ModelCapabilities } from "../model.ts";
import { createMaskedModel } from "../privacy/masked-model.ts";
import { createMaskedTool } from "../privacy/masked-tool.ts";
import type { PlaceholderStore } from "../privacy/placeholder-table.ts";
import { Vault } from "../privacy/vault.ts";
import type { ResultPolicy, Tool, ToolGroup } from "../tool.ts";
import type { Variables } from "../variables/variables.ts";
import { createChatVariables } from "./chat-variables.ts";
import type { SharedChatStore } from "./chats-options.ts";
import { weakOnlyLimits, WeakLruCache } from "./weak-lru-cache.ts";
import { buildSkillsGroup, type Skill } from "./skills.ts";
import { buildVariablesGroup } from "./variables-group.ts";

/** Limits of the vault cache: number of vaults, and total characters of their private values. */
const maxVaults = 200;
const maxVaultCharacters = 16 * 1024 * 1024;

type AgentCapabilities = Pick<ModelCapabilities, "type" | "tools">;

export interface ChatAgentsOptions {
  store: ChatStore & BlobStore & Pick<SharedChatStore, "isShared">;
  getModel: (name: string) => Model;
  getCapabilities: (model: string) => Promise<AgentCapabilities>;
  skills: readonly Skill[];
  /** Default for chats. */
  privacy: ChatSettings["privacy"];
  /** Defaults for chats. Agents from the configuration have their own limits. */
  limits: TaskLimits;
  retrySeconds?: number | undefined;
  /** Default for chats and agents. */
  resultApproval: ResultPolicy;
  now: () => number;
}

/** Prepares agents for a chat: masks private values and adds the tools for variables and skills. */
export class ChatAgents {
  readonly #options: ChatAgentsOptions;
  /** Evicted vaults are loaded from the store again. */
  readonly #vaults = new WeakLruCache<Vault>({
    maxEntries: maxVaults,
    maxWeight: maxVaultCharacters,
    getWeight: ({ characters }) => characters,
    isPinned: ({ hasNewPlaceholders }) => hasNewPlaceholders,
  });
  readonly #fieldsByVault = new WeakMap<Vault, string>();
  readonly #loading = new Map<string, { fields: string; vault: Promise<Vault> }>();
  /** Variables by chat id, as long as a running agent refers to them. */
  readonly #variables = new WeakLruCache<Variables>(weakOnlyLimits);
  /** Truncation guards by chat id. A guard exists as long as its vault, to which running agents refer. */
  readonly #guards = new WeakLruCache<TruncationGuard>(weakOnlyLimits);
  readonly #guardsByVault = new WeakMap<Vault, TruncationGuard>();

  constructor(options: ChatAgentsOptions) {
    this.#options = options;
  }

  /**
   * `isNamed` is true for an agent from the configuration, whose limits the chat does not override. `owner` is the owner of the
   * chat.
   */
  async prepareAgent(
    agent: Agent,
    chatId: string,
    settings: ChatSettings,
    { isNamed, owner }: { isNamed: boolean; owner: string },
  ): Promise<Agent> {
    const vault = await this.loadVault(chatId, settings);
    if (vault === undefined) this.#guards.delete(chatId);
    else {
      const truncationGuard =
        this.#guardsByVault.get(vault) ??
        createTruncationGuard(vault, this.#createPlaceholderStore(chatId));
      this.#guardsByVault.set(vault, truncationGuard);
      this.#guards.set(chatId, truncationGuard);
    }
    const capabilities = await this.#options.getCapabilities(getModelName(agent));
    const usableAgent = capabilities.tools ? agent : { ...agent, tools: [], agents: [] };
    const groups = [
      ...(usableAgent.tools.length > 0
        ? [buildVariablesGroup(this.#getVariables(chatId, owner), vault)]
        : []),
      ...this.#buildSkillGroups(settings, capabilities),
    ];
    const { retrySeconds, resultApproval } = this.#options;
    const withResultApproval = (entry: Agent): Agent => ({
      ...entry,
      resultApproval: settings.result_approval ?? entry.resultApproval ?? resultApproval,
    });
    const prepare = createAgentMapper((entry) => ({
      retrySeconds,
      ...this.#maskAgent(chatId, withResultApproval(entry), vault),
    }));
    const prepared = prepare(usableAgent);
    return {
      ...prepared,
      tools: [...prepared.tools, ...groups],
      limits: isNamed
        ? prepared.limits
        : { ...prepared.limits, ...this.#options.limits, ...settings.limits },
    };
  }

  /**
   * Returns the private values of a chat, or undefined if nothing is masked. All tasks of a chat share one vault, which knows all
   * values that were stored before the call.
   */
  async loadVault(chatId: string, settings: ChatSettings): Promise<Vault | undefined> {
    const privacy = this.resolvePrivacy(settings);
    if (privacy?.enabled !== true || privacy.fields.length === 0) return undefined;
    const fields = JSON.stringify(privacy.fields);
    const loading = this.#loading.get(chatId);
    if (loading?.fields === fields) return loading.vault;
    const cached = this.#vaults.get(chatId);
    if (
      cached !== undefined &&
      loading === undefined &&
      this.#fieldsByVault.get(cached) === fields
    ) {
      const store = this.#createPlaceholderStore(chatId);
      if (store.isShared) await cached.refresh(store);
      return cached;
    }
    const promise = this.#readVault(chatId, privacy.fields);
    this.#loading.set(chatId, { fields, vault: promise });
    const isCurrent = (): boolean => this.#loading.get(chatId)?.vault === promise;
    try {
      const vault = await promise;
      // Not cached if the chat was evicted meanwhile, or if its privacy settings have changed.
      if (isCurrent()) {
        this.#fieldsByVault.set(vault, fields);
        this.#vaults.set(chatId, vault);
      }
      return vault;
    } finally {
      if (isCurrent()) this.#loading.delete(chatId);
    }
  }

  async #readVault(chatId: string, fields: readonly PrivacyField[]): Promise<Vault> {
    const known = await this.#options.store.listPlaceholders(chatId);
    return new Vault({ fields, known, tag: buildPlaceholderTag(chatId) });
  }

  /** Returns the privacy settings of the chat, else the default. */
  resolvePrivacy({ privacy }: ChatSettings): ChatSettings["privacy"] {
    return privacy ?? this.#options.privacy;
  }

  /** Returns the guard of a chat with running tasks. Undefined if nothing is masked. */
  findTruncationGuard(chatId: string): TruncationGuard | undefined {
    return this.#guards.get(chatId);
  }

  #getVariables(chatId: string, owner: string): Variables {
    const cached = this.#variables.get(chatId);
    if (cached !== undefined) return cached;
    const { store, now } = this.#options;
    const created = createChatVariables(store, chatId, () => new Date(now()).toISOString(), owner);
    this.#variables.set(chatId, created);
    return created;
  }

  findVariables(chatId: string): Variables | undefined {
    return this.#variables.get(chatId);
  }

  /** Returns a model that receives placeholders instead of private values. */
  maskModel(chatId: string, model: Model, vault: Vault | undefined): Model {
    if (vault === undefined) return model;
    return createMaskedModel(model, vault, this.#createPlaceholderStore(chatId));
  }

  #createPlaceholderStore(chatId: string): PlaceholderStore {
    const { store } = this.#options;
    return {
      isShared: store.isShared,
      add: async (placeholders) => {
        // Puts an evicted vault back into the cache: it must not be lost before its new values are stored.
        this.#vaults.get(chatId);
        return store.addPlaceholders(chatId, placeholders);
      },
      list: (skip) => store.listPlaceholders(chatId, skip),
    };
  }

  /** Removes a permanently deleted chat from all caches. */
  evict(chatId: string): void {
    this.#loading.delete(chatId);
    this.#vaults.delete(chatId);
    this.#variables.delete(chatId);
    this.#guards.delete(chatId);
  }

  #maskAgent(chatId: string, agent: Agent, vault: Vault | undefined): Agent {
    if (vault === undefined) return agent;
    const placeholders = this.#createPlaceholderStore(chatId);
    const model =
      typeof agent.model === "string" ? this.#options.getModel(agent.model) : agent.model;
    return {
      ...agent,
      model: { ...this.maskModel(chatId, model, vault), name: getModelName(agent) },
      tools: agent.tools.map((entry) =>
        mapTools(entry, (tool) => createMaskedTool(tool, vault, placeholders)),
      ),
    };
  }

  /** For a model without tool support, includes only skills that are always in the prompt. */
  #buildSkillGroups({ skills }: ChatSettings, { type, tools }: AgentCapabilities): ToolGroup[] {
    if (type !== "chat") return [];
    const enabledSkills = this.#options.skills.filter(
      ({ name, always }) => (skills?.includes(name) ?? true) && (always || tools),
    );
    const group = buildSkillsGroup(enabledSkills);
    return group === undefined ? [] : [group];
  }
}

function createTruncationGuard(vault: Vault, store: PlaceholderStore): TruncationGuard {
  return {
    cutBefore: (text, position) => vault.cutBefore(text, position),
    flush: () => vault.storeNewPlaceholders(store),
  };
}

/** Returns a function that applies `change` to an agent and, recursively, to its sub-agents. Cycles are allowed. */
function createAgentMapper(change: (agent: Agent) => Agent): (agent: Agent) => Agent {
  const copies = new Map<Agent, Agent & { agents: Agent[] }>();
  const mapAgent = (agent: Agent): Agent => {
    const existing = copies.get(agent);
    if (existing !== undefined) return existing;
    const copy = { ...change(agent), agents: [] as Agent[] };
    copies.set(agent, copy);
    copy.agents.push(...agent.agents.map(mapAgent));
    return copy;
  };
  return mapAgent;
}

function mapTools(entry: Tool | ToolGroup, change: (tool: Tool) => Tool): Tool | ToolGroup {
  if (!("tools" in entry)) return change(entry);
  const { name, description, rules, tools } = entry;
  return { name, description, rules, tools: tools.map(change) };
}

/** Returns the tag in the placeholders of a chat. It is the same after a restart. */
function buildPlaceholderTag(chatId: string): string {
  return createHash("sha256").update(chatId).digest("hex").slice(0, 4);
}
