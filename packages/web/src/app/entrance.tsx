import { useState, type FormEvent } from "react";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Field, Input } from "../parts/field.tsx";
import { Empty, Spinner } from "../parts/signs.tsx";
import type { SignInProblem } from "../state/page.ts";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import { App } from "./app.tsx";
import { appWords, type AppWords } from "./words.ts";

/** Lets in whoever may: nothing is asked of a gateway without tokens. */
export function Entrance() {
  const { session } = usePage();
  const state = useCell(session.state);
  const words = useWords(appWords);
  switch (state.is) {
    case "open":
      return <App />;
    case "needs token":
      return <SignIn />;
    case "checking":
      return (
        <main className="app-entrance">
          <Spinner label={words.starting} />
        </main>
      );
    case "unreachable":
      return (
        <main className="app-entrance">
          <Empty title={words.unreachableTitle} text={words.unreachableText}>
            <Button kind="primary" onClick={() => void session.check()}>
              {words.tryAgain}
            </Button>
          </Empty>
        </main>
      );
    default:
      return unreachable(state);
  }
}

function SignIn() {
  const { session } = usePage();
  const words = useWords(appWords);
  const [problem, setProblem] = useState<SignInProblem>();
  const [isBusy, setBusy] = useState(false);
  const onSubmit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const token = new FormData(event.currentTarget).get("token");
    setBusy(true);
    setProblem(await session.signIn(typeof token === "string" ? token.trim() : ""));
    setBusy(false);
  };
  return (
    <main className="app-entrance">
      <form className="app-sign-in" onSubmit={(event) => void onSubmit(event)}>
        <p className="app-product">Deltawire</p>
        <h1>{words.loginTitle}</h1>
        <p>{words.loginText}</p>
        <Field label={words.token} error={problem && problemWords(problem, words)}>
          <Input name="token" type="password" autoComplete="current-password" required />
        </Field>
        <Button kind="primary" type="submit" busy={isBusy}>
          {words.signIn}
        </Button>
      </form>
    </main>
  );
}

function problemWords(problem: SignInProblem, words: AppWords): string {
  switch (problem.is) {
    case "wrong token":
      return words.wrongToken;
    case "too many tries":
      return words.tooManyTries(problem.seconds);
    case "unreachable":
      return words.notReached;
    case "other":
      return problem.message;
    default:
      return unreachable(problem);
  }
}
