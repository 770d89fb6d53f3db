import { startDemoServer, type DemoServer } from "@deltawire/demo";
import { startTestGateway, upstreamToml, type TestGateway } from "../test/test-gateway.ts";

/** The demo model behind gateways, with the names of its quirks. */
export interface DemoFixture {
  demo: DemoServer;
  /** Its upstream speaks Chat: the demo itself. */
  overChat: TestGateway;
  /** Its upstream speaks Responses: the other gateway. */
  overResponses: TestGateway;
  close(): Promise<void>;
}

export async function demoFixture(): Promise<DemoFixture> {
  const demo = await startDemoServer();
  const overChat = await startTestGateway(upstreamToml("lab", demo.url));
  // The first gateway has already retried.
  const overResponses = await startTestGateway(
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

/** The gateway's log lines of requests for replies. */
export function parseLoggedReplies({ lines }: TestGateway): LoggedReply[] {
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
