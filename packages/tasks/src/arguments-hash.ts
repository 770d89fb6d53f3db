import { parseBlobHash } from "./blobs.ts";
import type { Approval, ExpandedArguments, ApprovalResolution } from "./items.ts";
import { sha256 as defaultSha256 } from "./sha256.ts";

/** Returns the SHA-256 of the text, in hex. An approval and the execution that it allows must have the same hash. */
export function hashArguments(
  text: string,
  sha256: (text: string) => string = defaultSha256,
): string {
  return sha256(text);
}

/**
 * Returns the hash of expanded arguments: the hash of the blob if the expansion is stored as a blob. Undefined if its URL is
 * invalid.
 */
export function hashExpandedArguments(
  expandedArguments: ExpandedArguments,
  sha256?: (text: string) => string,
): string | undefined {
  return "text" in expandedArguments
    ? hashArguments(expandedArguments.text, sha256)
    : parseBlobHash(expandedArguments.url);
}

/** Returns the arguments that an approval allows to be executed. Undefined if these are the arguments that the model wrote. */
export function getApprovedArguments(
  { expanded_arguments: expandedArguments }: Approval,
  decision: Pick<ApprovalResolution, "arguments" | "expanded_arguments">,
): ExpandedArguments | undefined {
  if (decision.arguments === undefined) return expandedArguments;
  return decision.expanded_arguments ?? { text: decision.arguments };
}

/**
 * Returns the arguments that a user has edited, expanded unless the expansion is stored as a blob. Undefined if they were not
 * edited.
 */
export function getChangedArguments({
  arguments: editedArguments,
  expanded_arguments: expandedArguments,
}: Pick<ApprovalResolution, "arguments" | "expanded_arguments">): string | undefined {
  return expandedArguments !== undefined && "text" in expandedArguments
    ? expandedArguments.text
    : editedArguments;
}
