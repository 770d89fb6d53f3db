import type { Json } from "../../../test/valid-requests.ts";

/*
 * Requests of the Messages API with blocks of every kind in any order: what an agent with a long history, a client of another
 * gateway, or a program with an error may send.
 */

type JsonObject = { [name: string]: Json };

export interface MessagesRequestOptions {
  chance: () => number;
  model: string;
  /** Text that only requests of this client contain. */
  userText: string;
  /** Signatures that this client has received. */
  signatures: readonly string[];
}

const callIds = ["call_0", "toolu_1", "functions.f:0", "call_111111", "x".repeat(100), ""];
const toolNames = ["f", "look", "bash", "web_search", "n".repeat(128), "mcp__server__tool", ""];
const roles = ["user", "assistant", "user", "assistant", "system", "tool"];
const image = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };

/** Creates the body of a request whose parts are each valid, but do not always fit together. */
export function createMessagesBody(options: MessagesRequestOptions): JsonObject {
  return new BodyBuilder(options).build();
}

class BodyBuilder {
  readonly #options: MessagesRequestOptions;

  constructor(options: MessagesRequestOptions) {
    this.#options = options;
  }

  build(): JsonObject {
    const { model, userText } = this.#options;
    const turns =
      this.#chance() < 0.6
        ? this.#coherentTurns()
        : Array.from({ length: Math.floor(this.#chance() * 7) }, () => this.#turn());
    return {
      model,
      max_tokens: this.#pick([1, 100, 4096, 64_000]),
      stream: this.#chance() < 0.5,
      messages: [{ role: "user", content: userText }, ...turns],
      ...this.#maybe(0.4, () => ({ system: this.#pick(this.#systems()) })),
      ...this.#maybe(0.6, () => ({ tools: this.#list(5, () => this.#tool()) })),
      ...this.#maybe(0.4, () => ({ tool_choice: this.#toolChoice() })),
      ...this.#maybe(0.4, () => ({ thinking: this.#thinking() })),
      ...this.#maybe(0.3, () => ({ output_config: this.#outputConfig() })),
      ...this.#maybe(0.1, () => ({ temperature: this.#pick([0, 0.5, 1, 2]) })),
      ...this.#maybe(0.1, () => ({ top_p: 0.9, top_k: 5 })),
      ...this.#maybe(0.2, () => ({
        stop_sequences: this.#pick<Json>([["END"], [], [" "], ["a", "b", "c", "d", "e"]]),
      })),
      ...this.#maybe(0.2, () => ({ metadata: { user_id: "user_1_account__session_2" } })),
      ...this.#maybe(0.2, () => ({ cache_control: this.#cacheControl() })),
      ...this.#maybe(0.1, () => ({ service_tier: this.#pick(["auto", "standard_only"]) })),
      ...this.#maybe(0.1, () => ({
        context_management: { edits: [{ type: "compact_20260112" }] },
      })),
      ...this.#maybe(0.05, () => ({ mcp_servers: [{ type: "url", url: "http://x", name: "y" }] })),
      ...this.#maybe(0.05, () => ({ container: "container_1", speed: "fast", fallbacks: [] })),
      ...this.#maybe(0.05, () => ({ future_field: { a: [1] } })),
    };
  }

  /** Turns as an agent sends them: every call has its result, and blocks stand in turns of the right role. */
  #coherentTurns(): JsonObject[] {
    let callCount = 0;
    return Array.from({ length: Math.floor(this.#chance() * 5) }, () => {
      const calls = this.#list(3, () => {
        callCount += 1;
        const id = `${this.#pick(["call_", "toolu_", "functions.f:", "x".repeat(80)])}${callCount}`;
        return { type: "tool_use", id, name: this.#pick(toolNames) || "f", input: { a: "b" } };
      });
      const thinking = this.#maybeList(0.6, () => this.#thinkingBlock());
      const texts = this.#maybeList(0.7, () => ({ type: "text", text: "I look" }));
      const serverTool = this.#maybeList(0.2, () => this.#pick(this.#serverBlocks()));
      const results = calls.map(({ id = "" }) => this.#toolResult(id));
      const userBlocks = this.#maybeList(0.5, () => this.#pick(this.#userBlocks()));
      const turns: { role: string; content: string | JsonObject[] }[] = [
        { role: "assistant", content: [...thinking, ...serverTool, ...texts, ...calls] },
        {
          role: "user",
          content: [...results, ...userBlocks, { type: "text", text: "go on" }],
        },
      ];
      if (this.#chance() < 0.2) turns.push({ role: "system", content: "The user is away" });
      return turns.filter(({ content }) => content.length > 0);
    }).flat();
  }

  #turn(): JsonObject {
    const role = this.#pick(roles);
    if (this.#chance() < 0.2) return { role, content: this.#pick(["a", "", "ends in a space "]) };
    if (this.#chance() < 0.05) return { role, output_config: this.#outputConfig() };
    return { role, content: this.#list(5, () => this.#block()) };
  }

  #block(): JsonObject {
    const block = this.#pick<JsonObject>([
      ...this.#userBlocks(),
      ...this.#serverBlocks(),
      { type: "text", text: this.#pick(["a", "", "  ", "\u0000", "<system-reminder>"]) },
      { type: "text", text: "a", citations: [{ type: "char_location", cited_text: "a" }] },
      { type: "tool_use", id: this.#pick(callIds), name: this.#pick(toolNames), input: { a: "b" } },
      this.#toolResult(this.#pick(callIds)),
      this.#thinkingBlock(),
    ]);
    return { ...block, ...this.#maybe(0.1, () => ({ cache_control: this.#cacheControl() })) };
  }

  #userBlocks(): JsonObject[] {
    return [
      { type: "image", source: this.#source() },
      { type: "document", source: this.#source(), title: "t", context: "c" },
      {
        type: "search_result",
        source: "s",
        title: "t",
        content: [{ type: "text", text: "a" }],
      },
      { type: "container_upload", file_id: "file_1" },
      { type: "future_block", x: 1 },
    ];
  }

  #serverBlocks(): JsonObject[] {
    const found = {
      type: "web_search_result",
      url: "http://x",
      title: "t",
      encrypted_content: "A",
    };
    return [
      { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "q" } },
      { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [found] },
      { type: "mcp_tool_use", id: "mcptoolu_1", name: "x", server_name: "y", input: {} },
      { type: "mcp_tool_result", tool_use_id: "mcptoolu_1", is_error: false, content: [] },
      { type: "compaction", content: "what happened before" },
    ];
  }

  #thinkingBlock(): JsonObject {
    return this.#pick<JsonObject>([
      { type: "thinking", thinking: this.#pick(["hm", ""]), ...this.#signature() },
      { type: "thinking", thinking: "hm", ...this.#signature() },
      { type: "redacted_thinking", data: this.#pick(["AAAA", "", "dw1.AAAA"]) },
    ]);
  }

  #toolResult(id: Json): JsonObject {
    const content = this.#pick<Json | undefined>([
      undefined,
      "",
      "r",
      [],
      [{ type: "text", text: "r" }],
      [{ type: "image", source: image }],
      [{ type: "tool_reference", tool_name: "f" }],
      [{ type: "future_part" }],
    ]);
    return {
      type: "tool_result",
      tool_use_id: id,
      ...(content === undefined ? {} : { content }),
      ...this.#maybe(0.3, () => ({ is_error: this.#chance() < 0.7 })),
    };
  }

  /** A signature of this client, the same one altered, or one that nobody has made. */
  #signature(): JsonObject {
    const { signatures } = this.#options;
    const own = signatures[Math.floor(this.#chance() * signatures.length)] ?? "dw1.AAAA";
    const index = Math.floor(this.#chance() * own.length);
    return this.#pick<JsonObject>([
      { signature: own },
      { signature: own },
      { signature: `${own.slice(0, index)}A${own.slice(index + 1)}` },
      { signature: own.slice(0, index) },
      { signature: `${own}${own}` },
      { signature: "EqQBCkYIBRgCKkBtlZ3v7Jk3" },
      { signature: "" },
      {},
    ]);
  }

  #source(): JsonObject {
    return this.#pick<JsonObject>([
      image,
      { type: "base64", media_type: "application/pdf", data: "JVBERi0xLjQ=" },
      { type: "base64", media_type: "image/png", data: "####" },
      { type: "url", url: "https://a.example/x.png" },
      { type: "text", media_type: "text/plain", data: "b" },
      { type: "content", content: [{ type: "text", text: "c" }] },
      { type: "file", file_id: "file_1" },
      { type: "future" },
    ]);
  }

  #systems(): Json[] {
    const text = { type: "text", text: "Be brief" };
    return ["Be brief", "", [], [text, { ...text, cache_control: this.#cacheControl() }]];
  }

  #tool(): JsonObject {
    const schema = this.#pick<JsonObject>([
      { type: "object", properties: { a: { type: "string" } } },
      { type: "object" },
      {},
      { anyOf: [{ type: "object" }, { type: "null" }] },
      { $ref: "#/$defs/x", $defs: { x: { type: "object" } } },
    ]);
    return this.#pick<() => JsonObject>([
      () => ({ name: this.#pick(toolNames), description: "d", input_schema: schema }),
      () => ({
        type: "custom",
        name: "f",
        input_schema: schema,
        strict: true,
        defer_loading: true,
      }),
      () => ({ type: "bash_20250124", name: "bash" }),
      () => ({ type: "text_editor_20250728", name: "str_replace_based_edit_tool" }),
      () => ({ type: "memory_20250818", name: "memory" }),
      () => ({
        type: "web_search_20250305",
        name: "web_search",
        cache_control: this.#cacheControl(),
      }),
      () => ({ type: "code_execution_20250825", name: "code_execution" }),
      () => ({ type: "mcp_toolset", mcp_server_name: "y" }),
      () => ({ type: "future_20270101", name: "future" }),
    ])();
  }

  #toolChoice(): JsonObject {
    const type = this.#pick(["auto", "any", "tool", "none", "future"]);
    return {
      type,
      ...(type === "tool" ? { name: this.#pick(toolNames) } : {}),
      ...this.#maybe(0.3, () => ({ disable_parallel_tool_use: this.#chance() < 0.5 })),
    };
  }

  #thinking(): JsonObject {
    return this.#pick<JsonObject>([
      { type: "enabled", budget_tokens: 1024 },
      { type: "enabled", budget_tokens: 99_999 },
      { type: "enabled" },
      { type: "adaptive", display: "omitted" },
      { type: "disabled" },
      { type: "future" },
    ]);
  }

  #outputConfig(): JsonObject {
    return this.#pick<JsonObject>([
      { effort: "low" },
      { effort: "max" },
      { effort: "future" },
      { format: { type: "json_schema", schema: { type: "object" } } },
      { task_budget: { type: "tokens", total: 1000 } },
    ]);
  }

  #cacheControl(): JsonObject {
    return this.#pick<JsonObject>([
      { type: "ephemeral" },
      { type: "ephemeral", ttl: "1h" },
      { type: "future" },
    ]);
  }

  #maybe(probability: number, build: () => JsonObject): JsonObject {
    return this.#chance() < probability ? build() : {};
  }

  #maybeList(probability: number, build: () => JsonObject): JsonObject[] {
    return this.#chance() < probability ? [build()] : [];
  }

  #list(maxLength: number, build: () => JsonObject): JsonObject[] {
    return Array.from({ length: Math.floor(this.#chance() * (maxLength + 1)) }, build);
  }

  #pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.#chance() * list.length)] as T;
  }

  #chance(): number {
    return this.#options.chance();
  }
}
