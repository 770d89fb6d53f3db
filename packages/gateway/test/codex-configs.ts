import fc from "fast-check";

/** A Codex configuration that uses the Chat wire, with what a migration must keep and what it must not show. */
export interface CodexConfig {
  readonly toml: string;
  /** Lines that a migration must not touch, in order. */
  readonly unrelated: readonly string[];
  readonly comments: readonly string[];
}

/** Every secret in the generated configurations contains it. */
export const secretMarker = "hush";

type Form = "table" | "dotted" | "inline";
interface Provider {
  readonly id: string;
  readonly form: Form;
  readonly wire: "chat" | "responses";
  readonly fields: Readonly<Record<string, string | undefined>>;
  readonly order: readonly number[];
}

const provider: fc.Arbitrary<Provider> = fc
  .record<Provider>({
    id: fc.constantFrom("zai", "b-c", '"my models"', "ollama", "demo", "'x.y'"),
    form: fc.constantFrom("table", "dotted", "inline"),
    wire: fc.constantFrom("chat", "chat", "responses"),
    fields: fc.record(
      {
        base_url: fc.constantFrom('"https://api.z.ai/v4"', "'http://localhost:8000/v1/'"),
        env_key: fc.constantFrom('"SOME_KEY"', `"sk-${secretMarker}-1234"`),
        env_key_instructions: fc.constant('"Ask # somebody"'),
        experimental_bearer_token: fc.constant(`"${secretMarker}"`),
        http_headers: fc.constantFrom(
          `{ Authorization = "Bearer ${secretMarker}", X-Title = 'me' }`,
          `{ "X-Api-Key" = "${secretMarker}" }`,
          "{}",
        ),
        env_http_headers: fc.constant('{ X-Org = "ORG" }'),
        query_params: fc.constant('{ api-version = "2025-01-01" }'),
        stream_max_retries: fc.constant("7"),
        requires_openai_auth: fc.constantFrom("true", "false"),
        model_catalog_url: fc.constant('"https://old.example/models"'),
      },
      { requiredKeys: [] },
    ),
    order: fc.array(fc.nat(), { minLength: 12, maxLength: 12 }),
  })
  // Codex rejects its built-in names, which a migration corrects only for providers that it moves.
  .map((one) => (one.id === "ollama" ? { ...one, wire: "chat" } : one));

/** Generates configurations with tables, dotted keys and inline tables, with comments between and after them. */
export const codexConfigArbitrary: fc.Arbitrary<CodexConfig> = fc
  .record({
    providers: fc.uniqueArray(provider, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
    used: fc.nat(3),
    model: fc.option(fc.constantFrom("glm-4.6", "a/b"), { nil: undefined }),
    profile: fc.option(fc.nat(3), { nil: undefined }),
    lineEnding: fc.constantFrom("\n", "\r\n"),
    endsWithLine: fc.boolean(),
    coins: fc.infiniteStream(fc.boolean()),
  })
  // A table cannot be opened both by dotted keys and by a header.
  .filter(({ providers }) => {
    const forms = new Set(providers.map(({ form }) => form));
    return !(forms.has("dotted") && forms.has("inline"));
  })
  .map(({ providers, used, model, profile, lineEnding, endsWithLine, coins }) => {
    const writer = new Writer(coins);
    if (model !== undefined) writer.line(`model = "${model}"`);
    const inUse = providers[used];
    if (inUse !== undefined) writer.line(`model_provider = ${quoted(inUse.id)}`);
    writer.unrelated('approval_policy = "on-request"');
    // Dotted keys of the top level come before the first table.
    for (const one of providers) if (one.form === "dotted") writer.dotted(one);
    if (providers.some(({ form }) => form === "inline")) writer.line("[model_providers]");
    for (const one of providers) if (one.form === "inline") writer.inline(one);
    writer.unrelated("[tui]");
    writer.unrelated("notifications = [ 'a', \"b\" ]");
    for (const one of providers) if (one.form === "table") writer.table(one);
    const chosen = profile === undefined ? undefined : providers[profile];
    if (profile !== undefined) writer.line("[profiles.p]");
    if (chosen !== undefined) writer.line(`model_provider = ${quoted(chosen.id)}`);
    if (profile === 2) writer.line('model = "other"');
    writer.unrelated('[mcp_servers."docs"]');
    writer.unrelated("command = 'docs'");
    const text = writer.lines.join("\n") + (endsWithLine ? "\n" : "");
    return {
      toml: text.replaceAll("\n", lineEnding),
      unrelated: writer.unrelatedLines,
      comments: writer.comments,
    };
  });

function quoted(id: string): string {
  return /^["']/.test(id) ? id : `"${id}"`;
}

class Writer {
  readonly lines: string[] = [];
  readonly unrelatedLines: string[] = [];
  readonly comments: string[] = [];
  readonly #coins: Iterator<boolean>;

  constructor(coins: Iterator<boolean>) {
    this.#coins = coins;
  }

  line(text: string): void {
    if (this.#coin() && this.#coin()) this.lines.push("");
    if (this.#coin()) this.lines.push(this.#comment());
    const indent = this.#coin() ? "  " : "";
    this.lines.push(`${indent}${text}${this.#coin() ? `  ${this.#comment()}` : ""}`);
  }

  unrelated(text: string): void {
    this.line(text);
    this.unrelatedLines.push(this.lines.at(-1) ?? "");
  }

  dotted(one: Provider): void {
    for (const [name, value] of listFields(one))
      this.line(`model_providers.${one.id}.${name} = ${value}`);
  }

  inline(one: Provider): void {
    const fields = listFields(one).map(([name, value]) => `${name} = ${value}`);
    this.line(`${one.id} = { ${fields.join(this.#coin() ? ", " : ",")} }`);
  }

  table(one: Provider): void {
    this.line(`[model_providers.${one.id}]`);
    const later: [string, string][] = [];
    for (const [name, value] of listFields(one)) {
      const isTable = value.startsWith("{ ");
      if (isTable && this.#coin()) later.push([name, value]);
      else this.line(`${name}${this.#coin() ? "=" : " = "}${value}`);
    }
    for (const [name, value] of later) {
      this.line(`[model_providers.${one.id}.${name}]`);
      for (const entry of value.slice(2, -2).split(", ")) this.line(entry);
    }
  }

  #comment(): string {
    const comment = `# remark ${this.comments.length}: [x] = "y"`;
    this.comments.push(comment);
    return comment;
  }

  #coin(): boolean {
    return this.#coins.next().value === true;
  }
}

function listFields({ fields, wire, order }: Provider): [string, string][] {
  const given = Object.entries({ name: '"N"', wire_api: `"${wire}"`, ...fields });
  return given
    .flatMap(([name, value], index) =>
      value === undefined ? [] : [{ name, value, at: order[index] ?? 0 }],
    )
    .toSorted((a, b) => a.at - b.at)
    .map(({ name, value }) => [name, value]);
}
