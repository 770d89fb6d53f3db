import { startDemo, type Demo } from "@deltawire/demo";
import { runningGateway, upstreamToml, type TestGateway } from "../test/running-gateway.ts";

/** The demo model behind gateways, under the names of its quirks. */
export interface DemoStage {
  demo: Demo;
  /** Its upstream speaks Chat: the demo itself. */
  overChat: TestGateway;
  /** Its upstream speaks Responses: the other gateway. */
  overResponses: TestGateway;
  close(): Promise<void>;
}

export async function demoStage(): Promise<DemoStage> {
  const demo = await startDemo();
  const overChat = await runningGateway(upstreamToml("lab", demo.url));
  // What can be tried again, the first gateway has tried.
  const overResponses = await runningGateway(
    upstreamToml("next", `${overChat.url}/v1`, { speaks: "responses", retries: 0 }),
  );
  return {
    demo,
    overChat,
    overResponses,
    async close() {
      await overResponses.close();
      await overChat.close();
      await demo.close();
    },
  };
}

/** What a gateway logged of the requests for replies. */
export function loggedReplies({ lines }: TestGateway): LoggedReply[] {
  return lines
    .map((line) => JSON.parse(line) as LoggedReply)
    .filter(({ path = "" }) => /\/(?:responses|chat\/completions)$/.test(path));
}

export interface LoggedReply {
  path?: string;
  model?: string;
  status: number;
  tokens_in?: number;
  attempts?: number;
  lessons?: string[];
  repairs?: Record<string, number>;
  failure?: string;
  left?: boolean;
}
