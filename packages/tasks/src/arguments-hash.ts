import { blobHash } from "./blobs.ts";
import type { Approval, ExpandedArguments, Resolution } from "./items.ts";
import { sha256 as ownSha256 } from "./sha256.ts";

/** What is approved and what is executed must have the same: SHA-256 of the arguments' text, in hex. */
export function argumentsHash(text: string, sha256: (text: string) => string = ownSha256): string {
  return sha256(text);
}

/** The same for arguments that were expanded: of the complete expansion, which may be a blob, named by its own hash. */
export function expandedHash(
  expanded: ExpandedArguments,
  sha256?: (text: string) => string,
): string | undefined {
  return "text" in expanded ? argumentsHash(expanded.text, sha256) : blobHash(expanded.url);
}

/** What an approval allows to be executed; undefined: the call as the model wrote it. */
export function approvedArguments(
  { expanded_arguments: expanded }: Approval,
  decision: Pick<Resolution, "arguments" | "expanded_arguments">,
): ExpandedArguments | undefined {
  if (decision.arguments === undefined) return expanded;
  return decision.expanded_arguments ?? { text: decision.arguments };
}

/** The arguments of a decision as they run; as the person wrote them if the expansion is a blob. */
export function changedArguments({
  arguments: edited,
  expanded_arguments: expanded,
}: Pick<Resolution, "arguments" | "expanded_arguments">): string | undefined {
  return expanded !== undefined && "text" in expanded ? expanded.text : edited;
}
