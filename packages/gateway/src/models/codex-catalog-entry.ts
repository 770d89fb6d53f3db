import { baseInstructions } from "./base-instructions.ts";

export interface CodexCatalogInput {
  /** The exact name that the client requests: Codex 0.166 requires an exact match. */
  readonly slug: string;
  readonly displayName: string;
  readonly description: string;
  readonly contextWindow: number;
  /** Lowest first. */
  readonly efforts: readonly string[];
  readonly defaultEffort: string | undefined;
  readonly hasVision: boolean;
  /** The model with the lowest priority is the first in Codex's list, and its default. */
  readonly priority: number;
  /** True if Codex shows the model in its list. */
  readonly isListed: boolean;
}

export type CodexCatalogEntry = ReturnType<typeof buildCodexCatalogEntry>;

/**
 * Builds an entry of Codex's catalog. Codex rejects the complete list if one field is missing or has an unknown value, so
 * all fields that 0.98 to 0.166 require are set, as are those that let an unknown model work like a built-in one.
 */
export function buildCodexCatalogEntry(input: CodexCatalogInput) {
  const { efforts, defaultEffort, contextWindow } = input;
  return {
    slug: input.slug,
    display_name: input.displayName,
    description: input.description,
    priority: input.priority,
    visibility: input.isListed ? "list" : "hide",
    supported_in_api: true,
    upgrade: null,
    availability_nux: null,

    // Replaces the prompt of Codex. Required; an empty string would mean no prompt.
    base_instructions: baseInstructions,
    // As for Codex's own models before GPT-5.6, because this prompt does not explain skills and plugins.
    include_skills_usage_instructions: true,
    include_plugin_usage_instructions: true,

    context_window: contextWindow,
    truncation_policy: { mode: "tokens", limit: computeToolOutputLimit(contextWindow) },
    input_modalities: input.hasVision ? ["text", "image"] : ["text"],

    supported_reasoning_levels: efforts.map((effort) => ({
      effort,
      description: effortDescriptions[effort] ?? `Reasoning effort ${effort}`,
    })),
    ...(defaultEffort !== undefined && efforts.includes(defaultEffort)
      ? { default_reasoning_level: defaultEffort }
      : {}),
    default_reasoning_summary: "auto",
    supports_reasoning_summaries: true,
    support_verbosity: false,
    default_verbosity: null,

    shell_type: "unified_exec",
    apply_patch_tool_type: "freeform",
    supports_parallel_tool_calls: true,
    experimental_supported_tools: [] as string[],
  };
}

/** Returns the limit in tokens. Codex limits command output to 10,000 for its own models, which have a window of 272,000. */
function computeToolOutputLimit(contextWindow: number): number {
  return Math.min(10_000, Math.max(2_000, Math.floor(contextWindow / 10)));
}

const effortDescriptions: Readonly<Record<string, string>> = {
  none: "No reasoning",
  minimal: "Hardly any reasoning",
  low: "Quick answers with little reasoning",
  medium: "A balance of speed and depth",
  high: "Deeper reasoning for hard problems",
  xhigh: "Very deep reasoning for hard problems",
  max: "As much reasoning as the model can do",
  ultra: "As much reasoning as the model can do",
};
