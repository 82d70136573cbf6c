# SPDX-License-Identifier: Apache-2.0
"""Libraries on PyTorch. Each is imported by its own program, which is skipped where it is not installed."""

import seeded
import torch


def lightning_trainer():
    import lightning

    class Regression(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))

        def training_step(self, batch, _):
            x, y = batch
            return torch.nn.functional.mse_loss(self.net(x), y)

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.01)

    data = torch.utils.data.TensorDataset(torch.randn(64, 16), torch.randn(64, 1))
    model = Regression()
    trainer = lightning.Trainer(max_epochs=2, accelerator="gpu", devices=1, logger=False, enable_checkpointing=False,
                                enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, torch.utils.data.DataLoader(data, batch_size=16))
    return list(model.parameters())


def geometric():
    from torch_geometric.nn import GCNConv, global_mean_pool

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second, self.out = GCNConv(16, 32), GCNConv(32, 32), torch.nn.Linear(32, 4)

        def forward(self, x, edges, graph):
            x = self.first(x, edges).relu()
            return self.out(global_mean_pool(self.second(x, edges).relu(), graph))

    x, edges = seeded.on_device(200, 16), torch.randint(0, 200, (2, 800)).cuda()
    graph, labels = (torch.arange(200) // 25).cuda(), (torch.arange(8) % 4).cuda()
    return seeded.train(Net().cuda(), lambda net, _: torch.nn.functional.cross_entropy(net(x, edges, graph), labels))


def gaussian_process():
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean, self.kernel = gpytorch.means.ConstantMean(), gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.linspace(0, 1, 100).cuda()
    y = torch.sin(6 * x)
    likelihood = gpytorch.likelihoods.GaussianLikelihood().cuda()
    model = Model(x, y, likelihood).cuda()
    likelihood_of = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    trained = seeded.train(model, lambda net, _: -likelihood_of(net(x), y), rate=0.1)
    model.eval(), likelihood.eval()
    with torch.no_grad(), gpytorch.settings.fast_pred_var():
        return trained, likelihood(model(x[:10] + 0.005)).mean


def differential_equation():
    import torchdiffeq

    class Pull(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))

        def forward(self, _, y):
            return self.net(y**3)

    start, times = seeded.on_device(16, 2), torch.linspace(0, 1, 8).cuda()
    model = Pull().cuda()
    with torch.no_grad():
        seen = torchdiffeq.odeint(model, start, times, method="dopri5")
    return seen, seeded.train(model, lambda net, _: torchdiffeq.odeint(net, start, times, method="rk4").square().mean(), steps=2)
