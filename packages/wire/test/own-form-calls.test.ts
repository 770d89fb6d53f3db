import { expect, test } from "vitest";
import { call, chunk } from "./chat-stream.ts";
import { detailsOf, toResponses } from "./reply-translations.ts";

/** One whole call of a tool, and how the reply ended. */
function called(name: string, args: string, finish: string | null = "tool_calls") {
  return toResponses([
    chunk(call({ index: 0, id: "call_aaa", name, args })),
    ...(finish === null ? [] : [chunk({}, finish)]),
    "[DONE]",
  ]);
}

test("a command line where a local shell takes a list of words is wrapped", () => {
  const { output, repairs } = called("local_shell", '{"command":"ls -l | wc","timeout_ms":5}');
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
])("%s called with %s has nothing to run: incomplete, and counted", (name, args) => {
  const { output, repairs } = called(name, args);
  expect(output).toMatchObject([{ type: `${name}_call`, status: "incomplete" }]);
  expect(repairs.list).toEqual([{ code: "arguments_not_whole", choice: 0, detail: args }]);
});

test.each([
  ["local_shell", '{"command":["ls","-l"]}'],
  ["shell", '{"commands":["ls"]}'],
  ["apply_patch", '{"type":"delete_file","path":"a"}'],
  ["tool_search", "{}"],
  ["tool_search", '{"query":"git"}'],
])("%s called with %s can run", (name, args) => {
  const { output, repairs } = called(name, args);
  expect(output).toMatchObject([{ type: `${name}_call`, status: "completed" }]);
  expect(repairs.list).toEqual([]);
});

const patch = "*** Begin Patch";
const custom = (input: string, status: string) => [
  {
    type: "custom_tool_call",
    id: "ctc_minted_1",
    status,
    call_id: "call_aaa",
    name: "write_patch",
    input,
  },
];

test("the bare input of a custom tool is whole only if the upstream said that it had finished", () => {
  const finished = called("write_patch", patch, "stop");
  expect(finished.output).toEqual(custom(patch, "completed"));
  expect(detailsOf(finished.repairs, "custom_input_unwrapped")).toEqual([patch]);
  const stopped = called("write_patch", patch, null);
  expect(stopped.output).toMatchObject([{ type: "custom_tool_call", status: "incomplete" }]);
  expect(stopped.response?.status).toBe("incomplete");
});

test("wrapped, it shows by itself that it is whole", () => {
  const { output } = called("write_patch", JSON.stringify({ input: patch }), null);
  expect(output).toEqual(custom(patch, "completed"));
});

test.each([
  ["tool_calls", "completed"],
  ["stop", "completed"],
  ["length", "incomplete"],
  [null, "incomplete"],
])("the input of a native custom call, with the finish %j, is %s", (finish, status) => {
  const { output } = toResponses([
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
  expect(output).toEqual(custom(patch, status));
});
