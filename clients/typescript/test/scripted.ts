/** A server that answers what a test says, and remembers what it was asked; and a clock that tests move. */

import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Client, type ClientOptions } from "infex-client";

const LONG = 600; // seconds: decides nothing, as answers come at once and pauses pass at once
export const REST = 5; // seconds; what a client has by itself
export const LABELS = ["tea", "juice", "wine"];

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly authorization: string | undefined;
  readonly body: any;
}

/** A decision as the service sends it. */
export function decided(key: string, arm: number, more: object = {}): object {
  return {
    key, round: 3, arm, label: LABELS[arm], explored: false, reason: "greedy", greedy: arm, estimate: 0.5, low: 0.1,
    high: null, propensity: 1, explore_probability: 0, base_propensity: null, ...more,
  };
}

export class Script {
  readonly answers: ((response: ServerResponse) => void)[] = [];
  readonly asked: Asked[] = [];
  readonly pauses: number[] = [];
  url = "";
  now = 0;
  close = (): void => {};

  says(status: number, body: unknown, headers: Record<string, string> = {}): this {
    this.answers.push((response) => {
      response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
    });
    return this;
  }

  /** It says that it cannot, and that it will not for longer than anybody waits. */
  saysAway(): this {
    return this.says(503, { error: "StoreFailed", message: "full" }, { "retry-after": "10000" });
  }

  /** The connection is closed without a word. */
  hangsUp(): this {
    this.answers.push((response) => response.destroy());
    return this;
  }

  /** Nothing is ever said. */
  isSilent(): this {
    this.answers.push(() => {});
    return this;
  }

  /** A client that waits long for an answer, and whose pauses are over at once. */
  client(options: ClientOptions = {}): Client {
    const pause = async (seconds: number): Promise<void> => {
      this.pauses.push(seconds);
      this.now += seconds;
    };
    return new Client(this.url, { seconds: LONG, clock: () => this.now, pause, ...options });
  }
}

/** A server that listens until it is closed. */
export async function scripted(): Promise<Script> {
  const script = new Script();
  const server = createServer(async (request, response) => {
    const parts: Uint8Array[] = [];
    for await (const part of request) parts.push(part);
    const body = parts.length > 0 ? JSON.parse(Buffer.concat(parts).toString()) : undefined;
    const { method = "", url: path = "", headers } = request;
    script.asked.push({ method, path, authorization: headers.authorization, body });
    script.answers.shift()!(response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  script.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  script.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return script;
}
