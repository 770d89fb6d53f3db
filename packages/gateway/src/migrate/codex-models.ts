import { isTable, type Table } from "../config/decode.ts";

/** A model that a Codex configuration names, and the provider that it is asked of. */
export interface ModelUse {
  readonly provider: string;
  readonly model: string;
  readonly path: readonly string[];
  /** A profile with a provider of its own and no model: the top level's is meant, and this line chooses the provider. */
  readonly inheritedBeside?: readonly string[];
}

export function modelUses(config: Table): ModelUse[] {
  const provider = textIn(config, "model_provider") ?? "openai";
  const model = textIn(config, "model");
  const uses: ModelUse[] = [];
  for (const name of ["model", "review_model"]) {
    const model = textIn(config, name);
    if (model !== undefined) uses.push({ provider, model, path: [name] });
  }
  for (const [name, profile] of profilesOf(config)) {
    const own = textIn(profile, "model");
    const ownProvider = textIn(profile, "model_provider");
    const path = ["profiles", name, "model"];
    if (own !== undefined) uses.push({ provider: ownProvider ?? provider, model: own, path });
    else if (ownProvider !== undefined && model !== undefined) {
      const inheritedBeside = ["profiles", name, "model_provider"];
      uses.push({ provider: ownProvider, model, path, inheritedBeside });
    }
  }
  return uses;
}

/** Where a provider is chosen. */
export function providerChoices(config: Table): { provider: string; path: readonly string[] }[] {
  const choices = [
    { provider: textIn(config, "model_provider"), path: ["model_provider"] },
    ...profilesOf(config).map(([name, profile]) => ({
      provider: textIn(profile, "model_provider"),
      path: ["profiles", name, "model_provider"],
    })),
  ];
  return choices.flatMap(({ provider, path }) =>
    provider === undefined ? [] : [{ provider, path }],
  );
}

function profilesOf(config: Table): [string, Table][] {
  const profiles = config["profiles"];
  return Object.entries(isTable(profiles) ? profiles : {}).flatMap(([name, profile]) =>
    isTable(profile) ? [[name, profile]] : [],
  );
}

function textIn(table: Table, name: string): string | undefined {
  const value = table[name];
  return typeof value === "string" ? value : undefined;
}
