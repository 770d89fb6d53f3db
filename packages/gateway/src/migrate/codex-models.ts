import { isTomlTable, type TomlTable } from "../config/decode-section.ts";

/** A model in a Codex configuration, and its provider. */
export interface CodexModelUse {
  readonly provider: string;
  readonly model: string;
  /** Path of the `model` setting. */
  readonly path: readonly string[];
  /** Path of the `model_provider` setting. Only set for a profile that has its own provider but uses the top-level model. */
  readonly providerPath?: readonly string[];
}

export function findModelUses(config: TomlTable): CodexModelUse[] {
  const topLevelProvider = getString(config, "model_provider") ?? "openai";
  const topLevelModel = getString(config, "model");
  const uses: CodexModelUse[] = [];
  for (const name of ["model", "review_model"]) {
    const model = getString(config, name);
    if (model !== undefined) uses.push({ provider: topLevelProvider, model, path: [name] });
  }
  for (const [name, profile] of listProfiles(config)) {
    const profileModel = getString(profile, "model");
    const profileProvider = getString(profile, "model_provider");
    const path = ["profiles", name, "model"];
    if (profileModel !== undefined)
      uses.push({ provider: profileProvider ?? topLevelProvider, model: profileModel, path });
    else if (profileProvider !== undefined && topLevelModel !== undefined) {
      const providerPath = ["profiles", name, "model_provider"];
      uses.push({ provider: profileProvider, model: topLevelModel, path, providerPath });
    }
  }
  return uses;
}

/** Returns every setting that selects a provider: its value and its path. */
export function findProviderSettings(
  config: TomlTable,
): { provider: string; path: readonly string[] }[] {
  const settings = [
    { provider: getString(config, "model_provider"), path: ["model_provider"] },
    ...listProfiles(config).map(([name, profile]) => ({
      provider: getString(profile, "model_provider"),
      path: ["profiles", name, "model_provider"],
    })),
  ];
  return settings.flatMap(({ provider, path }) =>
    provider === undefined ? [] : [{ provider, path }],
  );
}

function listProfiles(config: TomlTable): [string, TomlTable][] {
  const profiles = config["profiles"];
  return Object.entries(isTomlTable(profiles) ? profiles : {}).flatMap(([name, profile]) =>
    isTomlTable(profile) ? [[name, profile]] : [],
  );
}

function getString(table: TomlTable, name: string): string | undefined {
  const value = table[name];
  return typeof value === "string" ? value : undefined;
}
