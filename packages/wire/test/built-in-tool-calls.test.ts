import { expect, test } from "vitest";
import { call, chunk } from "./chat-chunks.ts";
import { getRepairDetails, translateToResponses } from "./translate-reply.ts";

/** Translates a reply that consists of one complete tool call and the finish reason. */
function translateCall(name: string, args: string, finish: string | null = "tool_calls") {
  return translateToResponses([
    chunk(call({ index: 0, id: "call_aaa", name, args })),
    ...(finish === null ? [] : [chunk({}, finish)]),
    "[DONE]",
  ]);
}

test("a shell command that is a string instead of a list is passed to bash -lc", () => {
  const { output, repairs } = translateCall(
    "local_shell",
    '{"command":"ls -l | wc","timeout_ms":5}',
  );
  expect(output).toEqual([
    {
      type: "local_shell_call",
      id: "lsh_minted_1",
      status: "completed",
      call_id: "call_aaa",
      action: { type: "exec", command: ["bash", "-lc", "ls -l | wc"], env: {}, timeout_ms: 5 },
    },
  ]);
  expect(repairs.list).toEqual([]);
});

test.each([
  ["local_shell", '["ls"]'],
  ["local_shell", "5"],
  ["local_shell", '"ls"'],
  ["local_shell", "{}"],
  ["local_shell", '{"command":[]}'],
  ["local_shell", '{"command":["ls",5]}'],
  ["local_shell", '{"command":{"line":"ls"}}'],
  ["shell", '["ls"]'],
  ["shell", "true"],
  ["shell", "{}"],
  ["shell", '{"commands":"ls"}'],
  ["shell", '{"commands":[]}'],
  ["shell", '{"commands":[["ls"]]}'],
  ["apply_patch", "[]"],
  ["apply_patch", "5"],
  ["apply_patch", '{"type":"delete_file"}'],
  ["apply_patch", '{"path":"a"}'],
  ["apply_patch", '{"type":"delete_file","path":null}'],
  ["tool_search", "[]"],
  ["tool_search", '"git"'],
  ["tool_search", "5"],
])(
  "a %s call with arguments %s cannot run, so it is incomplete and recorded as a repair",
  (name, args) => {
    const { output, repairs } = translateCall(name, args);
    expect(output).toMatchObject([{ type: `${name}_call`, status: "incomplete" }]);
    expect(repairs.list).toEqual([{ code: "arguments_incomplete", choice: 0, detail: args }]);
  },
);

test.each([
  ["local_shell", '{"command":["ls","-l"]}'],
  ["shell", '{"commands":["ls"]}'],
  ["apply_patch", '{"type":"delete_file","path":"a"}'],
  ["tool_search", "{}"],
  ["tool_search", '{"query":"git"}'],
])("a %s call with arguments %s is complete", (name, args) => {
  const { output, repairs } = translateCall(name, args);
  expect(output).toMatchObject([{ type: `${name}_call`, status: "completed" }]);
  expect(repairs.list).toEqual([]);
});

const patch = "*** Begin Patch";
const customCall = (input: string, status: string) => [
  {
    type: "custom_tool_call",
    id: "ctc_minted_1",
    status,
    call_id: "call_aaa",
    name: "write_patch",
    input,
  },
];

test("plain text as the input of a custom tool is complete only with a finish reason", () => {
  const finished = translateCall("write_patch", patch, "stop");
  expect(finished.output).toEqual(customCall(patch, "completed"));
  expect(getRepairDetails(finished.repairs, "custom_input_unwrapped")).toEqual([patch]);
  const stopped = translateCall("write_patch", patch, null);
  expect(stopped.output).toMatchObject([{ type: "custom_tool_call", status: "incomplete" }]);
  expect(stopped.response?.status).toBe("incomplete");
});

test("JSON with the input of a custom tool is complete even without a finish reason", () => {
  const { output } = translateCall("write_patch", JSON.stringify({ input: patch }), null);
  expect(output).toEqual(customCall(patch, "completed"));
});

test.each([
  ["tool_calls", "completed"],
  ["stop", "completed"],
  ["length", "incomplete"],
  [null, "incomplete"],
])("the input of a native custom call with finish reason %j is %s", (finish, status) => {
  const { output } = translateToResponses([
    chunk({
      tool_calls: [
        {
          index: 0,
          id: "call_aaa",
          type: "custom",
          custom: { name: "write_patch", input: "*** Begin" },
        },
      ],
    }),
    chunk({ tool_calls: [{ index: 0, custom: { input: " Patch" } }] }),
    ...(finish === null ? [] : [chunk({}, finish)]),
    "[DONE]",
  ]);
  expect(output).toEqual(customCall(patch, status));
});
