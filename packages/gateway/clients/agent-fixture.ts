import { createDemoAgents, startDemoServer, type DemoServer } from "@deltawire/demo";
import { startTestGateway, upstreamToml, type TestGateway } from "../test/test-gateway.ts";

/** The demo's agents on the demo model, which records its requests. */
export interface AgentFixture {
  demo: DemoServer;
  gateway: TestGateway;
  tasks(): Promise<{ task_id: string; status: string }[]>;
  close(): Promise<void>;
}

export async function agentFixture({ paceMs = 0 } = {}): Promise<AgentFixture> {
  const demo = await startDemoServer({ paceMs });
  const gateway = await startTestGateway(upstreamToml("lab", demo.url), {
    agents: createDemoAgents("lab/clean"),
  });
  return {
    demo,
    gateway,
    async tasks() {
      const list = await (await fetch(`${gateway.url}/api/tasks`)).json();
      return (list as { data: { task_id: string; status: string }[] }).data;
    },
    async close() {
      await gateway.close();
      await demo.close();
    },
  };
}
