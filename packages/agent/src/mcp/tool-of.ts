import type { Tool as ListedTool } from "@modelcontextprotocol/client";
import type { Effect } from "@deltawire/tasks";
import type { JsonObject } from "@deltawire/wire";
import { toolOf as ownToolOf } from "../define-tool.ts";
import type { Redact } from "../redaction/redactor.ts";
import { uncheckedInput } from "../schemas/input-schema.ts";
import type { CallPolicy, Tool } from "../tool.ts";
import type { McpServer } from "./server.ts";
import { maxDescriptionLength, shortened } from "./limits.ts";
import { outputOf } from "./output.ts";
import { ProgressThrottle } from "./progress-throttle.ts";
import type { McpSession } from "./session.ts";

const usualMs = 60_000;
const maxProgressLength = 1000;

/** A tool of a server as one of ours. A TypeError where its schema is none of an object. */
export function toolOf(
  name: string,
  listed: ListedTool,
  { approval = {}, timeoutMs = usualMs, unmask, onWarning, name: serverName }: McpServer,
  session: McpSession,
  redact: Redact,
): Tool {
  const { annotations = {} } = listed;
  const input = listed.inputSchema as JsonObject;
  let isFirstCall = true;
  const effect = effectOf(annotations);
  const policy = typeof approval === "string" ? { call: approval } : approval;
  return ownToolOf({
    name,
    description: shortened(
      listed.description ?? listed.title ?? annotations.title ?? listed.name,
      maxDescriptionLength,
    ),
    input,
    effect,
    approval: { call: approvalOf(annotations), ...policy },
    anyArguments: annotations.destructiveHint !== true,
    timeout: timeoutMs,
    ...(unmask === false ? { unmask } : {}),
    async run(given, context) {
      // Not when the tools are listed: a thousand schemas would hold up the event loop.
      for (const unchecked of isFirstCall ? uncheckedInput(input) : [])
        onWarning?.(
          redact(
            `the arguments of "${listed.name}" of "${serverName}" are not fully checked: ${unchecked}`,
          ),
        );
      isFirstCall = false;
      const progress = new ProgressThrottle((message, fraction) =>
        context.progress(message, fraction),
      );
      const shown = (message: string): string => shortened(redact(message), maxProgressLength);
      let fraction: number | undefined;
      try {
        const result = await session.call(listed, given as JsonObject, {
          signal: context.signal,
          again: effect !== "once",
          onprogress: ({ progress: done, total, message }) => {
            fraction = total === undefined || !(total > 0) ? undefined : Math.min(1, done / total);
            const count = total === undefined ? `${done}` : `${done} of ${total}`;
            progress.report(message === undefined ? count : shown(message), fraction);
          },
          onlog: (line) => progress.report(shown(line), fraction),
        });
        return outputOf(result, redact);
      } finally {
        progress.end();
      }
    },
  });
}

type Annotations = NonNullable<ListedTool["annotations"]>;

function effectOf({ readOnlyHint, idempotentHint }: Annotations): Effect {
  if (readOnlyHint === true) return "pure";
  return idempotentHint === true ? "idempotent" : "once";
}

/** A server that does not say what its tool does is taken to say the worst, as the protocol has it. */
function approvalOf({ readOnlyHint, destructiveHint }: Annotations): CallPolicy {
  return readOnlyHint === true || destructiveHint === false ? "auto" : "ask once";
}
