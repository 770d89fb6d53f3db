import { demoAgents, startDemo, type Demo } from "@deltawire/demo";
import { runningGateway, upstreamToml, type TestGateway } from "../test/running-gateway.ts";

/** The demo's agents on the demo model, which remembers what it was asked. */
export interface AgentStage {
  demo: Demo;
  gateway: TestGateway;
  tasks(): Promise<{ task_id: string; status: string }[]>;
  close(): Promise<void>;
}

export async function agentStage({ paceMs = 0 } = {}): Promise<AgentStage> {
  const demo = await startDemo({ paceMs });
  const gateway = await runningGateway(upstreamToml("lab", demo.url), {
    agents: demoAgents("lab/clean"),
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
