import type { LoadedConfig } from "../config/load.ts";
import type { Flags } from "./arguments.ts";
import { runningGateway } from "./running.ts";
import type { Terminal } from "../terminal.ts";

interface ListedLesson {
  upstream: string;
  model: string;
  code: string;
  what: string;
  said: string;
}

/** Shows, or forgets, what the running gateway has learned. */
export async function lessons(
  { config }: LoadedConfig,
  { flags, reset }: { flags: Flags; reset: boolean },
  { stdout, stderr }: Terminal,
): Promise<number> {
  const running = await runningGateway(config);
  if (running === undefined) {
    stderr.write("no gateway is running here; lessons live as long as it does\n");
    return 1;
  }
  const answer = (await running.ask("/deltawire/lessons", reset ? "DELETE" : "GET")) as {
    lessons: ListedLesson[];
  };
  if (flags.json) stdout.write(`${JSON.stringify(answer)}\n`);
  else if (answer.lessons.length === 0)
    stdout.write(reset ? "Forgotten.\n" : "Nothing learned so far.\n");
  else
    for (const each of answer.lessons)
      stdout.write(`${each.upstream}/${each.model}  ${each.what}\n    it said: ${each.said}\n`);
  return 0;
}
