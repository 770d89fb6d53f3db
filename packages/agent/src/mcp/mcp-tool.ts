import type { Tool as ListedTool } from "@modelcontextprotocol/client";
import type { ToolEffect } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import { createTool } from "../define-tool.ts";
import type { Redact } from "../redaction/redactor.ts";
import { findUncheckedSchemaKeywords } from "../schemas/input-schema.ts";
import type { CallPolicy, Tool } from "../tool.ts";
import type { McpServerConfig } from "./server-config.ts";
import { maxDescriptionLength, truncateWithCount } from "./limits.ts";
import { convertToolResult } from "./convert-result.ts";
import { ProgressThrottle } from "./progress-throttle.ts";
import type { McpSession } from "./session.ts";

const defaultTimeoutMs = 60_000;
const maxProgressLength = 1000;

/** Wraps a tool of an MCP server. Throws a TypeError if its input schema does not describe an object. */
export function createMcpTool(
  name: string,
  listedTool: ListedTool,
  {
    approval = {},
    timeoutMs = defaultTimeoutMs,
    unmask,
    onWarning,
    name: serverName,
  }: McpServerConfig,
  session: McpSession,
  redact: Redact,
): Tool {
  const { annotations = {} } = listedTool;
  const input = listedTool.inputSchema as JsonObject;
  let isFirstCall = true;
  const effect = toEffect(annotations);
  const policy = typeof approval === "string" ? { call: approval } : approval;
  return createTool({
    name,
    description: truncateWithCount(
      listedTool.description ?? listedTool.title ?? annotations.title ?? listedTool.name,
      maxDescriptionLength,
    ),
    input,
    effect,
    approval: { call: toCallPolicy(annotations), ...policy },
    allowsAnyArguments: annotations.destructiveHint !== true,
    timeoutMs,
    ...(unmask === false ? { unmask } : {}),
    async run(args, context) {
      // At the first call, not when the tools are listed: checking a thousand schemas would block the event loop.
      for (const uncheckedKeyword of isFirstCall ? findUncheckedSchemaKeywords(input) : [])
        onWarning?.(
          redact(
            `the arguments of tool "${listedTool.name}" of MCP server "${serverName}" are not fully checked: ${uncheckedKeyword}`,
          ),
        );
      isFirstCall = false;
      const progress = new ProgressThrottle((message, fraction) =>
        context.progress(message, fraction),
      );
      const toProgressText = (message: string): string =>
        truncateWithCount(redact(message), maxProgressLength);
      let fraction: number | undefined;
      try {
        const result = await session.call(listedTool, args as JsonObject, {
          signal: context.signal,
          isRepeatable: effect !== "once",
          onprogress: ({ progress: completed, total, message }) => {
            fraction =
              total === undefined || !(total > 0) ? undefined : Math.min(1, completed / total);
            const progressText = total === undefined ? `${completed}` : `${completed} of ${total}`;
            progress.report(
              message === undefined ? progressText : toProgressText(message),
              fraction,
            );
          },
          onlog: (line) => progress.report(toProgressText(line), fraction),
        });
        return convertToolResult(result, redact);
      } finally {
        progress.end();
      }
    },
  });
}

type Annotations = NonNullable<ListedTool["annotations"]>;

function toEffect({ readOnlyHint, idempotentHint }: Annotations): ToolEffect {
  if (readOnlyHint === true) return "pure";
  return idempotentHint === true ? "idempotent" : "once";
}

/** Without annotations, a tool is treated as destructive, as the protocol specifies. */
function toCallPolicy({ readOnlyHint, destructiveHint }: Annotations): CallPolicy {
  return readOnlyHint === true || destructiveHint === false ? "auto" : "ask_once";
}
