import { baseInstructions } from "./base-instructions.ts";

export interface CodexEntryFacts {
  /** The name that a client asks for, to the letter: Codex 0.166 looks for no other. */
  readonly slug: string;
  readonly displayName: string;
  readonly description: string;
  readonly contextWindow: number;
  /** The lowest first. */
  readonly efforts: readonly string[];
  readonly defaultEffort: string | undefined;
  readonly seesImages: boolean;
  /** The lowest is first in Codex's list, and its default. */
  readonly priority: number;
  /** Whether Codex's own list of models shows it. */
  readonly listed: boolean;
}

export type CodexEntry = ReturnType<typeof codexEntry>;

/**
 * A model as Codex's catalogue has it. Codex refuses the whole list for one missing field or unknown word, so all of
 * them are here that it needs (0.98 to 0.166), and those with which an unknown model works like one of Codex's own.
 */
export function codexEntry(facts: CodexEntryFacts) {
  const { efforts, defaultEffort, contextWindow } = facts;
  return {
    slug: facts.slug,
    display_name: facts.displayName,
    description: facts.description,
    priority: facts.priority,
    visibility: facts.listed ? "list" : "hide",
    supported_in_api: true,
    upgrade: null,
    availability_nux: null,

    // It takes the place of Codex's own prompt: an empty one is no prompt, and without one the list is refused.
    base_instructions: baseInstructions,
    // Codex's models before GPT-5.6 are told how to use skills and plugins in this way; our prompt does not say it.
    include_skills_usage_instructions: true,
    include_plugin_usage_instructions: true,

    context_window: contextWindow,
    truncation_policy: { mode: "tokens", limit: toolOutputLimit(contextWindow) },
    input_modalities: facts.seesImages ? ["text", "image"] : ["text"],

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

/** Codex gives its own models 10,000 tokens of a command's output, of a window of 272,000. */
function toolOutputLimit(contextWindow: number): number {
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
